package series

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// site is a database whose days of samples are made, from ten days ago on.
type site struct {
	Sampler
	t *testing.T
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{Sampler{DB: pgtest.Open(t), Leads: func() bool { return true }}, t}
	s.exec("SELECT divvy_make_day('share_samples', (now() AT TIME ZONE 'UTC')::date - i) FROM generate_series(-1, 10) AS i")
	return s
}

func (s *site) exec(sql string, args ...any) {
	s.t.Helper()
	if _, err := s.DB.Exec(s.t.Context(), sql, args...); err != nil {
		s.t.Fatal(sql, err)
	}
}

// lines are the rows of a statement, each as one text.
func (s *site) lines(sql string) []string {
	s.t.Helper()
	rows, err := s.DB.Query(s.t.Context(), sql)
	if err != nil {
		s.t.Fatal(sql, err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		s.t.Fatal(sql, err)
	}
	return all
}

func (s *site) rate(want int) {
	s.t.Helper()
	if n, err := s.Rate(s.t.Context()); n != want || err != nil {
		s.t.Errorf("%d rows, %v; want %d", n, err, want)
	}
}

// The leader writes a row a share and pool, and nobody else does; figures that are nothing take no place.
func TestSample(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	known := true
	s.Standing = func() (explain.Standing, bool) {
		return explain.Standing{Pools: []explain.PoolStanding{{Pool: "cpu", Shares: []explain.ShareStanding{
			{Place: explain.Place{ID: 1}, Target: 2.25, Held: 1.9996, Ready: 7, Lending: explain.Lending{Deserved: 3, Lent: 0.0004, Borrowed: 1.5}},
			{Place: explain.Place{ID: 2}, Held: 0.7},
		}}, {Pool: "gpu", Shares: []explain.ShareStanding{{Place: explain.Place{ID: 1}, Target: 1, Lending: explain.Lending{Lent: 2}}}}}}, known
	}
	if n, err := s.Sample(t.Context()); n != 3 || err != nil {
		t.Fatalf("%d rows, %v", n, err)
	}
	want := []string{"cpu 1 2.25 2000 7 3 - 1.5", "cpu 2 0 700 0 0 - -", "gpu 1 1 0 0 0 2 -"}
	sql := `SELECT concat_ws(' ', pool, share_id, target, held, ready, deserved, coalesce(lent::text, '-'), coalesce(borrowed::text, '-'))
		FROM share_samples WHERE at BETWEEN now() - interval '1 minute' AND now() ORDER BY pool, share_id`
	if diff := cmp.Diff(want, s.lines(sql)); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	known = false
	if n, err := s.Sample(t.Context()); n != 0 || err != nil {
		t.Errorf("%d rows of what is not known, %v", n, err)
	}
	known, s.Leads = true, func() bool { return false }
	if n, err := s.Sample(t.Context()); n != 0 || err != nil {
		t.Errorf("%d rows of a daemon that does not lead, %v", n, err)
	}
	if got := s.lines(sql); len(got) != len(want) {
		t.Errorf("%d rows in the end", len(got))
	}
}

// The course of a share has every sample of a short time, and one a step of a long one.
func TestSeries(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	// A sample a minute for eight days; held counts the minutes back from now.
	s.exec(`INSERT INTO share_samples (at, pool, share_id, target, held, ready)
		SELECT now() - make_interval(mins => m, secs => 1), 'default', s, 5.5, m * 1000, m FROM generate_series(0, 8 * 1440) m, generate_series(1, 2) s`)
	for _, c := range []struct {
		span, step time.Duration
		least      int
		most       int
	}{{time.Hour, 0, 60, 60}, {24 * time.Hour, 5 * time.Minute, 287, 289}, {7 * 24 * time.Hour, 30 * time.Minute, 335, 337}, {time.Minute, 0, 1, 1}} {
		got, err := Read(t.Context(), s.DB, Request{Share: 2, Pool: "default", Span: c.span, Step: c.step})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(got.Points); n < c.least || n > c.most || got.Share != 2 || got.Pool != "default" {
			t.Errorf("%s by %s: %d points of %d in %s, want %d to %d", c.span, c.step, n, got.Share, got.Pool, c.least, c.most)
			continue
		}
		last := got.Points[len(got.Points)-1]
		if last.Target != 5.5 || last.Held != float64(last.Ready) || time.Since(last.At) > c.step+10*time.Minute {
			t.Errorf("%s: the last point is %+v", c.span, last)
		}
		for i, p := range got.Points[1:] {
			if apart := p.At.Sub(got.Points[i].At); apart < c.step-time.Minute || apart > c.step+time.Minute {
				t.Errorf("%s by %s: points %s apart", c.span, c.step, apart)
			}
		}
	}
	none, err := Read(t.Context(), s.DB, Request{Share: 2, Pool: "no such", Span: time.Hour})
	if err != nil || none.Points == nil || len(none.Points) != 0 {
		t.Errorf("%+v %v", none, err)
	}
}

// ago is a full hour, so many hours ago.
func ago(hours int) time.Time {
	return time.Now().UTC().Truncate(time.Hour).Add(-time.Duration(hours) * time.Hour)
}

// at writes a sample of a share so many minutes after a time.
func (s *site) at(from time.Time, share int, minute, target float64, held, ready int) {
	s.t.Helper()
	s.exec("INSERT INTO share_samples (at, pool, share_id, target, held, ready) VALUES ($1, 'default', $2, $3, $4, $5)",
		from.Add(time.Duration(minute*float64(time.Minute))+time.Duration(share)*time.Microsecond), share, target, held*1000, ready)
}

// rated are the hours since a time.
func (s *site) rated(from time.Time) []string {
	s.t.Helper()
	return s.lines(`SELECT concat_ws(' ', extract(hour FROM hour - '` + from.Format(time.RFC3339) + `'::timestamptz), share_id, round(seconds), round(target_seconds),
		round(held_seconds), round(missed_seconds), round(starved_seconds), round(busy_seconds)) FROM fairness_hours ORDER BY hour, share_id`)
}

// Integrals over samples, against the same in plain sums.
func TestRate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.rate(0)
	hour := ago(3)
	for m := -1.0; m < 60; m++ {
		s.at(hour, 1, m, 6, 9, 5)
		s.at(hour, 2, m, 4, 1, 5)
	}
	s.at(hour, 1, 65, 6, 6, 0) // counts for ten minutes: there was nobody after it
	s.at(hour, 2, 65, 4, 0, 1)
	s.at(hour, 2, 70, 4, 0, 0)
	s.rate(6)
	want := []string{
		"-1 1 60 360 540 0 0 60", "-1 2 60 240 60 180 0 60",
		"0 1 3600 21600 32400 0 0 3600", "0 2 3600 14400 3600 10800 0 3600",
		// The sample of minute 59 counts until 65, or for ten minutes.
		"1 1 900 5400 6300 0 0 900", "1 2 1200 4800 300 2100 300 600",
	}
	if diff := cmp.Diff(want, s.rated(hour)); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	s.rate(0)
	s.exec("DELETE FROM fairness_hours")
	s.rate(6)
	if diff := cmp.Diff(want, s.rated(hour)); diff != "" {
		t.Errorf("all over again: want (-), got (+):\n%s", diff)
	}
}

// Starving is what the metric counts: not of a target below a unit, nor while nobody in the pool holds anything.
func TestRateOfStarving(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	hour := ago(3)
	for m := range 60 {
		held := 9
		if m >= 30 {
			held = 0
		}
		s.at(hour, 1, float64(m), 8.5, held, 5)
		s.at(hour, 2, float64(m), 1, 0, 5)
		s.at(hour, 3, float64(m), 0.5, 0, 5)
	}
	if _, err := s.Rate(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"1 0", "2 1800", "3 0"}
	if diff := cmp.Diff(want, s.lines("SELECT concat_ws(' ', share_id, round(starved_seconds)) FROM fairness_hours WHERE seconds > 600 ORDER BY share_id")); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

// Hours without samples keep no later one from being rated, however many they are; a step does some hours at a time.
func TestRateAfterAPause(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for h := range rateHours + 3 {
		s.at(ago(200-h), 1, 1, 1, 1, 1)
	}
	s.at(ago(3), 1, 1, 1, 1, 1)
	s.rate(rateHours)
	s.rate(3 + 1)
	s.rate(0)
}

// The hour that is not over for two minutes waits; so does the one after the newest that is rated.
func TestRateWaits(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.exec("INSERT INTO share_samples (at, pool, share_id, target, held, ready) VALUES (now() - interval '61 minutes', 'default', 1, 1, 1, 1)")
	s.exec(`INSERT INTO fairness_hours (hour, pool, share_id, seconds, target_seconds, held_seconds, missed_seconds, starved_seconds, busy_seconds)
		VALUES (now() - interval '2 hours 1 minute', 'default', 1, 1, 1, 1, 1, 1, 1)`)
	s.rate(0)
	s.exec("UPDATE fairness_hours SET hour = now() - interval '5 hours'")
	s.exec("UPDATE share_samples SET at = date_trunc('hour', now() - interval '1 minute 55 seconds')")
	s.rate(0)
	s.exec("UPDATE share_samples SET at = at - interval '1 hour 1 minute'")
	s.rate(1)
}

// Daemons that rate at the same time write each hour once.
func TestDaemonsRateTogether(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for h := 20; h > 2; h-- {
		s.at(ago(h), 1, 1, 1, 1, 1)
	}
	var all sync.WaitGroup
	rows := make([]int, 4)
	for i := range rows {
		all.Go(func() {
			var err error
			if rows[i], err = s.Rate(t.Context()); err != nil { // whoever finds another at it stops
				t.Error(err)
			}
		})
	}
	all.Wait()
	n, err := s.Rate(t.Context())
	for _, r := range rows {
		n += r
	}
	if n != 18 || err != nil {
		t.Errorf("%d hours in %v, want 18; %v", n, rows, err)
	}
	if all := s.lines("SELECT hour::text FROM fairness_hours ORDER BY 1"); len(all) != 18 || len(slices.Compact(all)) != 18 {
		t.Errorf("%d hours in the table", len(all))
	}
}
