package stage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/load"
	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// lead has a dispatcher lead on the database of the stage until the test ends.
func lead(t *testing.T, s *Stage) {
	t.Helper()
	d, err := dispatcher.Open(t.Context(), dispatcher.Config{Pool: s.Place.Pool, Daemon: 1, Outbox: intake.NewOutbox(s.Place.Pool),
		Site: func(ctx context.Context, number int64) (shares.Version, error) {
			at, err := s.Place.site.Get(ctx, number)
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
	s.Served = Served{Dispatcher: d}
	if err := s.Place.InLog(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The data set is loaded through the generator; the checks pass on it and find what was spoiled by hand.
func TestChecksFindWhatIsWrong(t *testing.T) {
	ctx := context.Background()
	pool := pgtest.Open(t)
	s := &Stage{Sizes: Sizes{Ready: 3000, Held: 100, Rounds: 2}, Plan: Base, Book: figure.NewBook(nil, nil), Place: On(pool)}
	rates, err := s.Load(ctx)
	if err != nil || len(rates.Rounds) != 2 || rates.Min <= 0 {
		t.Fatalf("%+v %v", rates, err)
	}
	if err := s.Measured(ctx, "loading"); err != nil || len(s.Book.Checks) != 1 {
		t.Fatalf("%v", err)
	}
	lead(t, s)
	if err := s.Hold(ctx, s.Held); err != nil {
		t.Fatal(err)
	}
	if err := s.Measured(ctx, "holding"); err != nil || len(s.Book.Checks) != 2 || !strings.Contains(s.Book.Checks[1], "3100 jobs made, 3100 live, 0 ended, 100 leased") {
		t.Fatalf("%v %v", err, s.Book.Checks)
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
			var check *recount.Error
			if err := s.Verify(ctx, tx, name, len(s.Kept)); !errors.As(err, &check) {
				t.Errorf("verify: %v", err)
			}
			if err := tx.Rollback(ctx); err != nil {
				t.Fatal(err)
			}
		})
	}
	var check *recount.Error
	if err := s.Took(ctx, []load.Claim{{Job: 1}}); !errors.As(err, &check) {
		t.Errorf("a claim without a lease: %v", err)
	}
}

// A full run makes anew what has gone after every round, a brief one when it is a quarter.
func TestMissing(t *testing.T) {
	full, brief := &Stage{Sizes: Sizes{Ready: 1000}}, &Stage{Sizes: Sizes{Ready: 1000, Brief: true}}
	for i, c := range []struct{ gone, full, brief int }{{100, 100, 0}, {149, 149, 0}, {1, 1, 250}, {600, 600, 600}, {249, 249, 0}} {
		if f, b := full.missing(c.gone), brief.missing(c.gone); f != c.full || b != c.brief {
			t.Errorf("%d: %d and %d, want %d and %d", i, f, b, c.full, c.brief)
		}
	}
}

// A brief run recounts once, for all that was measured; a check that fails then has no less to say.
func TestRecountOfAll(t *testing.T) {
	s := &Stage{Sizes: Sizes{Ready: 1000, Rounds: 1, Brief: true}, Plan: Base, Book: figure.NewBook(nil, nil), Place: On(pgtest.Open(t))}
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"loading", "claims"} {
		if err := s.Measured(t.Context(), what); err != nil || len(s.Book.Checks) != 0 {
			t.Fatalf("%s: %v %v", what, err, s.Book.Checks)
		}
	}
	for range 2 { // the second time there is nothing to check
		if err := s.Settle(t.Context()); err != nil || len(s.Book.Checks) != 1 || !strings.HasPrefix(s.Book.Checks[0], "after loading, claims: ") {
			t.Fatalf("%v %v", err, s.Book.Checks)
		}
	}
	s.Extra = 1
	if err := s.Measured(t.Context(), "waking"); err != nil {
		t.Fatal(err)
	}
	if err := s.Settle(t.Context()); err == nil || !strings.Contains(err.Error(), "no figures") {
		t.Errorf("a job is missing: %v", err)
	}
}

func TestSiteAndWork(t *testing.T) {
	s, err := site.Parse("bench", []byte(Base.File()))
	if err != nil {
		t.Fatal(err)
	}
	all := Leaves(s.Tree)
	if len(all) != 100 || len(s.Queues) != Base.Queues+1 {
		t.Fatalf("%d leaves, %d queues", len(all), len(s.Queues))
	}
	for _, n := range []int{0, 1, 37, 1_000_000} {
		sum := 0
		for _, c := range divide(n, all) {
			if c < 0 {
				t.Errorf("divide %d: %d jobs", n, c)
			}
			sum += c
		}
		if sum != n {
			t.Errorf("divide %d: %d", n, sum)
		}
	}
	for shape := range Shapes {
		spec := Work(all[0].Path, Shapes[shape], 5)
		if err := spec.Check(); err != nil || spec.Requirements.MemoryMB <= BaseMB/2 {
			t.Errorf("shape %d: %v, or it fits the idle queue", shape, err)
		}
	}
}

func TestWithDatabase(t *testing.T) {
	for dsn, want := range map[string]string{
		"postgres://u:p@h:5433/site?sslmode=disable": "postgres://u:p@h:5433/mine?sslmode=disable",
		"postgres://h":                   "postgres://h/mine",
		"host=/run/pg user=u dbname=old": "host=/run/pg user=u dbname=old dbname=mine",
	} {
		if got, err := WithDatabase(dsn, "mine"); err != nil || got != want {
			t.Errorf("%s: %s %v", dsn, got, err)
		}
	}
	if _, err := WithDatabase("postgres://u:secret@[::/x", "mine"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}
