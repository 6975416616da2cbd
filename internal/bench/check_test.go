package bench

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// discard is a connection that takes everything.
type discard struct{ net.Conn }

func (discard) Write(b []byte) (int, error) { return len(b), nil }

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
	const lease = "INSERT INTO leases (job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority, pilot, node, daemon_id, expires_at, ttl_s) "
	for name, spoil := range map[string]string{
		"a lost job":              "DELETE FROM jobs WHERE id = (SELECT min(id) FROM jobs)",
		"a job too many":          "INSERT INTO jobs (task_id, share_id, shape_id, place, priority, max_attempts, idx) SELECT task_id, share_id, shape_id, place, priority, 3, 0 FROM jobs LIMIT 1",
		"a lease nobody knows":    lease + "SELECT id, 1, 1, task_id, share_id, shape_id, 1, 1000, 1, 0, 'p', 'n', 1, now(), 60 FROM jobs LIMIT 1",
		"a lease without a job":   lease + "SELECT -1, 1, 1, task_id, share_id, shape_id, 1, 1000, 1, 0, 'p', 'n', 1, now(), 60 FROM jobs LIMIT 1",
		"a job that is not found": "UPDATE job_ranges SET low = high",
		"a ledger row that went":  "DELETE FROM ledger WHERE seq = (SELECT max(seq) FROM ledger)",
		"a job in another state":  "UPDATE jobs SET state = 'waiting' WHERE id = (SELECT min(id) FROM jobs)",
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
