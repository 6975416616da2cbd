package dispatcher

import (
	"context"
	"testing"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// The course of a share has every sample of a short time, and one a step of a long one.
func TestShareSeries(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 10))
	d, stop := f.runWith(Config{Pool: f.pool, Load: f.load})
	t.Cleanup(stop)
	f.exec("SELECT divvy_make_days('share_samples', (now() AT TIME ZONE 'UTC')::date - 8, 10)")
	// A sample a minute for eight days; held counts the minutes back from now.
	f.exec(`INSERT INTO share_samples (at, pool, share_id, target, held, ready)
		SELECT now() - make_interval(mins => m, secs => 1), 'default', s.id, 5.5, m * 1000, m
		FROM generate_series(0, 8 * 1440) m, shares s WHERE s.path IN ('A', 'B')`)
	id := d.Standing().Pools[0].Shares[0].ID
	for _, c := range []struct {
		span, step time.Duration
		least      int
		most       int
	}{{time.Hour, 0, 60, 60}, {24 * time.Hour, 5 * time.Minute, 287, 289}, {7 * 24 * time.Hour, 30 * time.Minute, 335, 337}, {time.Minute, 0, 1, 1}} {
		s, err := d.ShareSeries(context.Background(), SeriesRequest{Share: id, Pool: "default", Span: c.span, Step: c.step})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(s.Points); n < c.least || n > c.most {
			t.Errorf("%s by %s: %d points, want %d to %d", c.span, c.step, n, c.least, c.most)
			continue
		}
		last := s.Points[len(s.Points)-1]
		if last.Target != 5.5 || last.Held != float64(last.Ready) || time.Since(last.At) > c.step+10*time.Minute {
			t.Errorf("%s: the last point is %+v", c.span, last)
		}
		for i, p := range s.Points[1:] {
			if apart := p.At.Sub(s.Points[i].At); apart < c.step-time.Minute || apart > c.step+time.Minute {
				t.Errorf("%s by %s: points %s apart", c.span, c.step, apart)
			}
		}
	}
	none, err := d.ShareSeries(context.Background(), SeriesRequest{Share: id, Pool: "no such", Span: time.Hour})
	if err != nil || none.Points == nil || len(none.Points) != 0 {
		t.Errorf("%+v %v", none, err)
	}
}
