package upkeep

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"
)

// month keeps everything for thirty days.
var month = Keep{Log: 30 * day, History: 30 * day, Samples: 30 * day, Hours: 30 * day, Days: 30 * day}

// What is missing or wrong in a Config is said.
func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	s := newSite(t, month)
	for want, change := range map[string]func(*Config){
		"needs DB, Log, Folded, Roll, History": func(c *Config) { c.Roll = nil },
		"counts from 0":                        func(c *Config) { c.Keep.Days = -time.Second },
		"for as long at least":                 func(c *Config) { c.Keep.History = time.Hour },
		"history is kept for 720h0m0s and":     func(c *Config) { c.Keep.Log = 0 },
	} {
		cfg := s.Config
		change(&cfg)
		_, err := Steps(cfg)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Steps: %v, want %q", err, want)
		}
		if _, err := Room(t.Context(), cfg); err == nil {
			t.Errorf("Room takes what Steps does not: %s", want)
		}
	}
}

// A daemon has all room before it writes; a moment later nothing is missing. Rows of the next days have their place.
func TestRoomIsMadeAhead(t *testing.T) {
	t.Parallel()
	s := newSite(t, month)
	const days = 4 * (ahead + 1)
	if n, err := Room(t.Context(), s.Config); err != nil || n != days+LogRoom/LogSize {
		t.Fatalf("%d partitions, %v", n, err)
	}
	if n, err := Room(t.Context(), s.Config); err != nil || n != 0 {
		t.Errorf("%d partitions once more, %v", n, err)
	}
	s.exec("INSERT INTO share_samples (at, pool, share_id, target, held, ready) SELECT now() + make_interval(days => i), 'p', 1, 1, 1, 1 FROM generate_series(0, 3) AS i")
	s.exec("SELECT divvy_make_history((now() AT TIME ZONE 'UTC')::date)") // the fold finds it
	for _, table := range DayTables(month) {
		if n := s.days(table.Name); n != ahead+1 {
			t.Errorf("%s has %d days", table.Name, n)
		}
	}
	if n := scan[int](s, `SELECT count(*)::int FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE c.relname ~ '^share_samples_\d+$' AND i.indisprimary`); n != ahead+1 {
		t.Errorf("%d of the days of samples have their index", n)
	}
}

// Of daemons that make days at the same time each day is made once, and none fails.
func TestDaemonsMakeDaysTogether(t *testing.T) {
	t.Parallel()
	s := newSite(t, month)
	var all sync.WaitGroup
	made, failed := make([]int, 8), make([]error, 8)
	for i := range made {
		all.Go(func() { made[i], failed[i] = Config{DB: s.DB, Keep: month}.daysAhead(t.Context()) })
	}
	all.Wait()
	sum := s.run("days ahead") // what a daemon did not wait for
	for _, n := range made {
		sum += n
	}
	if err := errors.Join(failed...); err != nil || sum != 4*(ahead+1) {
		t.Errorf("%d days made, want %d; %v", sum, 4*(ahead+1), err)
	}
}

// Whoever reads a table for long keeps no day from being made; a day that is to be dropped waits for the next time.
func TestReadersAndDays(t *testing.T) {
	t.Parallel()
	s := newSite(t, month)
	s.exec("SELECT divvy_make_day('share_samples', (now() AT TIME ZONE 'UTC')::date - 60)")
	tx, err := s.DB.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT FROM history, share_samples, attempt_texts"); err != nil {
		t.Fatal(err)
	}
	if n := s.run("days ahead"); n != 4*(ahead+1) {
		t.Errorf("%d days made beside a reader", n)
	}
	if n := s.run("old samples"); n != 0 {
		t.Errorf("%d days dropped under a reader", n)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := s.run("old samples"); n != 1 {
		t.Errorf("%d days dropped after it", n)
	}
}

// A day of samples goes once it ended as long ago as it is kept, not a moment before.
func TestOldSamples(t *testing.T) {
	t.Parallel()
	s := newSite(t, Keep{Log: day, History: day, Samples: 5 * day})
	s.exec("SELECT divvy_make_day('share_samples', (now() AT TIME ZONE 'UTC')::date - i) FROM generate_series(0, 9) AS i")
	if n := s.run("old samples"); n != 4 { // those of 9 to 6 days ago
		t.Errorf("%d days dropped", n)
	}
	if s.days("share_samples") != 6 {
		t.Errorf("%d days left", s.days("share_samples"))
	}
	s.Keep.Samples = 0
	s.exec("SELECT divvy_make_day('share_samples', '2020-01-01')")
	if n := s.run("old samples"); n != 0 {
		t.Errorf("%d days dropped that are kept for ever", n)
	}
}

// Nothing of history goes that is not folded beyond it, or that is in no sum by node.
func TestOldHistory(t *testing.T) {
	t.Parallel()
	s := newSite(t, Keep{Log: day, History: 5 * day})
	s.exec("SELECT divvy_make_day('history', (now() AT TIME ZONE 'UTC')::date - i) FROM generate_series(0, 9) AS i")
	s.folded = time.Now().Add(-7*day - time.Second).UTC()
	if n := s.run("old history"); n != 2 || s.rolls != 1 {
		t.Errorf("%d days dropped, want the two before that of the last batch that is folded; rolled up %d times", n, s.rolls)
	}
	s.folded = time.Now()
	if n := s.run("old history"); n != 2 || s.days("history") != 6 {
		t.Errorf("%d days dropped, %d left", n, s.days("history"))
	}
	s.Roll = func(context.Context) error { return errors.New("no sums") }
	s.exec("SELECT divvy_make_day('history', (now() AT TIME ZONE 'UTC')::date - 60)")
	if _, err := s.try("old history"); err == nil || s.days("history") != 7 {
		t.Errorf("a day went that is in no sum: %v", err)
	}
}

// log notes what it is told.
type log struct {
	before time.Time
	last   int64
	n      int
}

func (l *log) Extend(context.Context, int64, int64) (int, error) { return 0, nil }

func (l *log) Retain(_ context.Context, before time.Time, last int64) (int, error) {
	l.before, l.last, l.n = before, last, l.n+1
	return 1, nil
}

// Batches stay that are not folded, or that a reader needs; and all of them while a reader cannot say.
func TestOldLog(t *testing.T) {
	t.Parallel()
	s := newSite(t, month)
	l := &log{}
	s.Log = l
	s.exec("UPDATE folded SET seq = 900")
	if s.run("old log"); l.last != 900 || time.Since(l.before) < 30*day || time.Since(l.before) > 30*day+time.Minute {
		t.Errorf("batches up to %d from before %s", l.last, l.before)
	}
	seq, failed := int64(700), error(nil)
	var asked time.Time
	s.Needed = []Needed{func(context.Context, time.Time) (int64, error) { return math.MaxInt64, nil }, func(_ context.Context, before time.Time) (int64, error) {
		asked = before
		return seq, failed
	}}
	if s.run("old log"); l.last != 700 || l.n != 2 || !asked.Equal(l.before) {
		t.Errorf("batches up to %d of 700 that nobody needs, from before %s; asked for %s", l.last, l.before, asked)
	}
	failed = errors.New("no checkpoint")
	if _, err := s.try("old log"); !errors.Is(err, failed) || l.n != 2 {
		t.Errorf("dropped %d times, %v", l.n, err)
	}
	s.Keep.Log, s.Keep.History = 0, 0
	if n := s.run("old log"); n != 0 || l.n != 2 {
		t.Error("the log was to be kept for ever")
	}
}

// Jobs go by the same age as history.
func TestOldJobs(t *testing.T) {
	t.Parallel()
	s := newSite(t, month)
	if s.run("old jobs"); time.Since(s.jobsOver).Round(time.Hour) != 30*day {
		t.Errorf("jobs from before %s", s.jobsOver)
	}
}

// Rows go when they are as old as said, oldest first, some at a time, whoever does it; what is kept for ever stays.
func TestOldRows(t *testing.T) {
	t.Parallel()
	s := newSite(t, month)
	const hours = 9000
	s.exec(`INSERT INTO end_counts SELECT date_trunc('hour', now()) - make_interval(hours => i), 1, 1, 1, 1, 'f', 'f' FROM generate_series(0, $1) AS i`, hours)
	s.exec(`INSERT INTO hour_usage SELECT date_trunc('hour', now()) - make_interval(hours => i), 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 'ann' FROM generate_series(0, $1) AS i`, hours)
	s.exec(`INSERT INTO day_usage SELECT date_trunc('day', now(), 'UTC') - make_interval(days => i), 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 'ann' FROM generate_series(0, 99) AS i`)
	want := mostRows*2 + 99 - 30
	if n := s.run("old rows"); n != want {
		t.Errorf("%d rows went, want %d", n, want)
	}
	if n := scan[int](s, `SELECT count(*)::int FROM end_counts WHERE hour < now() - make_interval(hours => $1)`, hours-mostRows+1); n != 0 {
		t.Errorf("%d rows stayed although younger ones went", n)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for n := 1; n > 0; {
				var err error
				if n, err = (Config{DB: s.DB, Keep: month}).oldRows(t.Context()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	for s.run("old rows") > 0 { // each of them may have found another at it
	}
	for sql, want := range map[string]int{"SELECT count(*)::int FROM end_counts": 8*24 + 1, "SELECT count(*)::int FROM hour_usage": 30*24 + 1,
		"SELECT count(*)::int FROM day_usage": 31} {
		if n := scan[int](s, sql); n != want && n != want-1 { // the hour, or day, may have changed meanwhile
			t.Errorf("%s: %d, want %d", sql, n, want)
		}
	}
	s.Keep = Keep{}
	if n := s.run("old rows"); n != 0 {
		t.Errorf("%d rows went that are kept for ever", n)
	}
}

// A closed daemon stays as long as the log has a batch that may be its own.
func TestOldDaemons(t *testing.T) {
	t.Parallel()
	s := newSite(t, month)
	s.exec("INSERT INTO daemons (host, pid, closed_at) VALUES ('a', 1, NULL), ('b', 2, now() - interval '2 hours'), ('c', 3, now() - interval '3 days'), ('d', 4, now() - interval '9 days')")
	if _, err := s.Log.Extend(t.Context(), 10, 10); err != nil {
		t.Fatal(err)
	}
	s.exec("INSERT INTO batches (seq, id, after, at, by, kinds) SELECT i, gen_random_uuid(), gen_random_uuid(), now() - make_interval(days => 5 - i), 1, '' FROM generate_series(1, 3) AS i")
	if n := s.run("old daemons"); n != 1 {
		t.Errorf("%d daemons went", n)
	}
	s.exec("DELETE FROM batches WHERE seq < 3")
	s.exec("UPDATE batches SET at = now()") // and yet b has not been closed for long
	if n := s.run("old daemons"); n != 1 {
		t.Errorf("%d daemons went with the batches of their time", n)
	}
	if n := scan[string](s, "SELECT string_agg(host, '' ORDER BY host) FROM daemons"); n != "ab" {
		t.Errorf("left: %s", n)
	}
}

// What the log refused can be looked at for a month, then it goes; what is still to be taken stays.
func TestOldRefusals(t *testing.T) {
	t.Parallel()
	s := newSite(t, month)
	s.exec(`INSERT INTO outbox (entries, made_at, refused) VALUES ('[]', now() - interval '31 days', 'no'), ('[]', now() - interval '29 days', 'no'),
		('[]', now() - interval '31 days', NULL)`)
	if n := s.run("old refusals"); n != 1 {
		t.Errorf("%d rows went", n)
	}
	if n := scan[int](s, "SELECT count(*)::int FROM outbox"); n != 2 {
		t.Errorf("%d rows are left", n)
	}
}

// Reports of attempts that run stay, and those of an attempt whose end was folded before they came go.
func TestOldReports(t *testing.T) {
	t.Parallel()
	s := newSite(t, month)
	s.exec("UPDATE folded SET at = now()")
	s.exec(`INSERT INTO held (job, nth, nonce, task, place, units, granted_at, request, attempt, share, shape, queue, start_delay_ms, ttl_s, grace_s, pilot, node, reason)
		VALUES (1, 1, 1, 1, 0, 1, now(), gen_random_uuid(), 2, 1, 1, 1, 0, 0, 0, '', '', '')`)
	s.exec(`INSERT INTO lease_reports (job_id, attempt, said_at, report) VALUES (1, 2, now() - interval '2 hours', '{}'), (2, 1, now() - interval '2 hours', '{}'),
		(3, 1, now(), '{}')`)
	if n := s.run("old reports"); n != 1 {
		t.Errorf("%d reports went", n)
	}
	if left := scan[string](s, "SELECT string_agg(job_id::text, ',' ORDER BY job_id) FROM lease_reports"); left != "1,3" {
		t.Errorf("left: %s", left)
	}
}

// Each step may be repeated, and has a name and an interval of its own.
func TestStepsRepeat(t *testing.T) {
	t.Parallel()
	s := newSite(t, month)
	steps, err := Steps(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, step := range steps {
		if step.Every <= 0 || names[step.Name] {
			t.Errorf("%q every %s", step.Name, step.Every)
		}
		names[step.Name] = true
		for range 2 {
			if _, err := step.Run(t.Context()); err != nil {
				t.Errorf("%s: %v", step.Name, err)
			}
		}
		if n, err := step.Run(t.Context()); n != 0 || err != nil {
			t.Errorf("%s: %d, %v, after it found nothing more to do", step.Name, n, err)
		}
	}
}
