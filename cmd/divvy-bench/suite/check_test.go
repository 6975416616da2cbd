package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// discard is a connection that takes everything.
type discard struct{ net.Conn }

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// lead has a dispatcher lead on the database of the stage until the test ends.
func lead(t *testing.T, s *stage) {
	t.Helper()
	d, err := dispatcher.Open(t.Context(), dispatcher.Config{Pool: s.place.pool, Daemon: 1, Outbox: intake.NewOutbox(s.place.pool),
		Site: func(ctx context.Context, number int64) (shares.Version, error) {
			at, err := s.store.Get(ctx, number)
			if err != nil {
				return shares.Version{}, err
			}
			return at.Version(), nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); d.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	s.served = Served{Dispatcher: d}
	if err := s.place.inLog(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The data set is loaded through the generator; the checks pass on it and find what was spoiled by hand.
func TestChecksFindWhatIsWrong(t *testing.T) {
	ctx := context.Background()
	pool := pgtest.Open(t)
	s := &stage{Sizes: Base(), cfg: Config{Progress: io.Discard}, report: &Report{Began: time.Now()}, place: &place{pool: pool}}
	s.Ready, s.Held, s.Rounds = 3000, 100, 2
	rates, err := s.load(ctx)
	if err != nil || len(rates.Rounds) != 2 || rates.Min <= 0 {
		t.Fatalf("%+v %v", rates, err)
	}
	if err := s.verify(ctx, "loading"); err != nil || len(s.report.Checks) != 1 {
		t.Fatalf("%v", err)
	}
	lead(t, s)
	if err := s.hold(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.verify(ctx, "holding"); err != nil || len(s.report.Checks) != 2 || !strings.Contains(s.report.Checks[1], "3100 jobs made, 3100 live, 0 ended, 100 leased") {
		t.Fatalf("%v %v", err, s.report.Checks)
	}
	const lease = "INSERT INTO held (job, nth, nonce, task, place, units, granted_at, request, attempt, share, shape, queue, start_delay_ms, ttl_s, grace_s, pilot, node, reason) "
	const end = `INSERT INTO history (job, nonce, task, units, granted_at, ended_at, cpu_ms, attempt, share, shape, queue, start_delay_ms, exit_code, memory_mb, outcome, state, pilot, node)
		SELECT %s, 1, task, 1000, now(), now(), 0, 1, share, shape, 1, 0, 0, 0, 'f', 'f', 'p', 'n' FROM %s LIMIT 1`
	for name, spoil := range map[string]string{
		"a lost job":             "DELETE FROM jobs WHERE id = (SELECT min(id) FROM jobs)",
		"a job too many":         "INSERT INTO jobs (id, idx) SELECT max(id) + 1, 0 FROM jobs",
		"a lease nobody knows":   lease + "SELECT low, 1, 1, task, place, 1000, now(), gen_random_uuid(), 1, share, shape, 1, 0, 0, 0, 'p', 'n', '' FROM idle_ranges LIMIT 1",
		"a lease without a job":  lease + "SELECT -1, 1, 1, task, place, 1000, now(), gen_random_uuid(), 1, share, shape, 1, 0, 0, 0, 'p', 'n', '' FROM idle_ranges LIMIT 1",
		"a lease that went":      "DELETE FROM held WHERE job = (SELECT min(job) FROM held)",
		"jobs that nobody finds": "DELETE FROM idle_ranges WHERE high = (SELECT min(high) FROM idle_ranges)",
		"a job without a row":    "UPDATE idle_ranges SET low = low - 1 WHERE high = (SELECT min(high) FROM idle_ranges)",
		"a block that went":      "DELETE FROM job_blocks WHERE low = (SELECT max(low) FROM job_blocks)",
		"a job in another state": "UPDATE idle_ranges SET state = 'w' WHERE high = (SELECT min(high) FROM idle_ranges)",
		"a count of a share":     "UPDATE share_counts SET ready = ready + 1 WHERE (share, shape, queue) = (SELECT share, shape, queue FROM share_counts WHERE queue = 0 LIMIT 1)",
		"a count of a task":      "UPDATE task_counts SET waiting = waiting + 1 WHERE task = (SELECT min(task) FROM task_counts)",
		"held units":             "UPDATE held SET units = units + 1 WHERE job = (SELECT min(job) FROM held)",
		"an end of a lease":      fmt.Sprintf(end, "job", "held"),
		"an end without a lease": fmt.Sprintf(end, "low", "idle_ranges"),
	} {
		t.Run(name, func(t *testing.T) {
			tx, err := pool.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			tag, err := tx.Exec(ctx, spoil)
			if err != nil || tag.RowsAffected() == 0 {
				t.Fatalf("%v %v", tag, err)
			}
			spoilt := *s
			spoilt.place = &place{pool: pool, query: tx}
			var check *CheckError
			if err := spoilt.verify(ctx, name); !errors.As(err, &check) {
				t.Errorf("verify: %v", err)
			}
			if err := tx.Rollback(ctx); err != nil {
				t.Fatal(err)
			}
		})
	}
	var check *CheckError
	if err := s.took(ctx, []claim{{job: 1}}); !errors.As(err, &check) {
		t.Errorf("a claim without a lease: %v", err)
	}
}
