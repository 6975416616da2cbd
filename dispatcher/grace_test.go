package dispatcher

import (
	"context"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// away makes a daemon believe that the database has not answered for so long, and that its last grace is over.
func (d *Dispatcher) away(since time.Duration) {
	d.grace.mu.Lock()
	defer d.grace.mu.Unlock()
	d.grace.heard, d.grace.until = time.Now().Add(-since), time.Time{}
}

func (f *fixture) beat(d *Dispatcher) {
	f.t.Helper()
	if _, err := d.Heartbeat(context.Background()); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) expires(d *Dispatcher, want int, when string) {
	f.t.Helper()
	d.mu.Lock()
	d.swept = time.Time{}
	d.mu.Unlock()
	if n, err := d.Expire(context.Background()); n != want || err != nil {
		f.t.Errorf("%s: %d leases ran out, %v; want %d", when, n, err, want)
	}
}

// The database was away for longer than leases last. Whoever renews within the grace keeps his, the others lose theirs then.
func TestGraceAfterSilence(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 2))
	d := f.daemon(Timing{Grace: time.Minute})
	f.enqueue(batch{share: "A", n: 2})
	back, gone := pull1(t, d, "q"), pull1(t, d, "q")
	pgtest.Age(t, f.pool, "leases", "expires_at", time.Hour)
	d.away(10 * time.Minute)
	f.expires(d, 0, "the database is away")
	f.beat(d)
	f.expires(d, 0, "it has just come back")
	reply, err := d.Renew(context.Background(), RenewRequest{Pilot: "p", Leases: []Renewal{{Lease: back.Lease, State: Running}}})
	if err != nil || len(reply.Kept) != 1 {
		t.Fatalf("a renewal within the grace: %+v %v", reply, err)
	}
	f.beat(d)
	d.away(time.Second) // and the grace is over
	f.expires(d, 1, "after the grace")
	var left int64
	if f.scan(&left, "SELECT job_id FROM leases"); left != back.Job {
		t.Errorf("the lease of job %d is left, want %d, not %d", left, back.Job, gone.Job)
	}
	f.recount()
}

// A daemon that starts when none was seen for long spares leases too; one that starts beside others does not, and
// where no grace is set nobody does.
func TestGraceOfANewDaemon(t *testing.T) {
	for _, c := range []struct {
		name   string
		grace  time.Duration
		silent time.Duration
		want   int
	}{
		{"after all were away", time.Minute, 10 * time.Minute, 0},
		{"beside another", time.Minute, 0, 1},
		{"without a grace", 0, 10 * time.Minute, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 2))
			old := f.daemon()
			f.enqueue(batch{share: "A", n: 1})
			pull1(t, old, "q")
			pgtest.Age(t, f.pool, "leases", "expires_at", time.Hour)
			pgtest.Age(t, f.pool, "daemons", "seen_at", c.silent)
			f.expires(f.daemon(Timing{Grace: c.grace}), c.want, "at the start")
		})
	}
}

// A clock that stood still, as that of a machine that slept does, does not hide the time.
func TestGapBySleepingClock(t *testing.T) {
	now := time.Now()
	if got := gap(now.Add(-time.Hour).Round(0), now); got < time.Hour {
		t.Errorf("gap %v, want an hour", got)
	}
	if got := gap(now, now.Add(2*time.Second)); got != 2*time.Second {
		t.Errorf("gap %v, want 2s", got)
	}
}
