package dispatcher

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/migrations"
	"github.com/divvyhq/divvy/shares"
)

// lonely is a database whose commits can be made to wait for a standby that never comes. pgtest's server has no senders
// of its log, and waits for none.
type lonely struct {
	t    *testing.T
	pool *pgxpool.Pool
}

func newLonely(t *testing.T) lonely {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := pg.StartCluster(ctx, pg.ClusterConfig{Ephemeral: true, NoFsync: true,
		Settings: map[string]string{"shared_buffers": "32MB", "max_wal_senders": "2", "wal_level": "replica"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	pool, err := pg.Open(ctx, c.DSN(), pg.MaxConns(8))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if _, err := migrations.Up(ctx, pool); err != nil {
		t.Fatal(err)
	}
	return lonely{t, pool}
}

// waits says whether a commit waits now.
func (l lonely) waits() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err := l.pool.Exec(ctx, "INSERT INTO probes VALUES (1)")
	return errors.Is(err, context.DeadlineExceeded)
}

// standby names the standby that commits wait for; empty: none. It returns when commits do so.
func (l lonely) standby(name string) {
	l.t.Helper()
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = '" + name + "'", "SELECT pg_reload_conf()"} {
		if _, err := l.pool.Exec(l.t.Context(), sql); err != nil {
			l.t.Fatal(err)
		}
	}
	eventually(l.t, "the setting is in force", func() bool { return l.waits() == (name != "") })
}

func lonelyFixture(t *testing.T) (lonely, *fixture, *Dispatcher) {
	t.Helper()
	l := newLonely(t)
	f := newFixtureOn(t, l.pool, []shares.Spec{node("A", 1)}, slots("q", 10))
	f.exec("CREATE TABLE probes (n int)")
	f.enqueue(batch{share: "A", n: 2})
	d, err := Open(t.Context(), Config{Pool: l.pool, Load: f.load, Timing: Timing{Statement: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	return l, f, d
}

// The wait of an end for the standby is broken off: the primary shows the end, and the standby may not have it. Said again, it
// is not Recorded before the standby has it.
func TestRepeatedEndWaitsForTheStandby(t *testing.T) {
	l, f, d := lonelyFixture(t)
	b := decided(t, d, 2)
	d.lease(t.Context(), d.lane(firstGrantLane), b)
	ends := endsOf(t, b, Finished)

	l.standby("nobody")
	if out, err := d.endBatch(t.Context(), 0, ends[:1]); !pg.IsUnavailable(err) {
		t.Fatalf("an end without the standby: %v %v, want unavailable", out, err)
	}
	eventually(t, "the end shows", func() bool {
		var n int
		f.scan(&n, "SELECT count(*) FROM attempts")
		return n == 1
	})
	for range 2 {
		if out, err := d.endBatch(t.Context(), 0, ends[:1]); !pg.IsUnavailable(err) {
			t.Fatalf("the end again, without the standby: %v %v, want unavailable", out, err)
		}
	}
	// What promises nothing does not wait.
	other := ends[0]
	other.outcome = Failed
	if out, err := d.endBatch(t.Context(), 1, []ended{other}); err != nil || out[0].verdict != LeaseLost {
		t.Fatalf("another end of it: %v %v, want lease_lost", out, err)
	}
	l.standby("")
	if out, err := d.endBatch(t.Context(), 0, ends); err != nil || out[0].verdict != Recorded || out[1].verdict != Recorded {
		t.Fatalf("with the standby: %v %v, want both recorded", out, err)
	}
	f.recount()
}

// The same for a grant whose pull is repeated.
func TestRepeatedPullWaitsForTheStandby(t *testing.T) {
	l, f, d := lonelyFixture(t)
	p, err := newPull(PullRequest{Queue: "q", Pilot: "p", Slot: Slot{Cores: 1}, RequestID: "r1", WaitS: 60})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.admit(p); err != nil {
		t.Fatal(err)
	}
	b := decidedAgain(t, d, 1)
	l.standby("nobody")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, _, err := d.execLease(ctx, d.lane(firstGrantLane), b); !pg.IsUnavailable(err) {
		t.Fatalf("a grant without the standby: %v, want unavailable", err)
	}
	eventually(t, "the grant shows", func() bool {
		var n int
		f.scan(&n, "SELECT count(*) FROM pulls")
		return n == 1
	})
	if known, err := d.answered([]*pull{p}); !pg.IsUnavailable(err) {
		t.Fatalf("the pull again, without the standby: %v %v, want unavailable", known, err)
	}
	stranger, err := newPull(PullRequest{Queue: "q", Pilot: "p", Slot: Slot{Cores: 1}, RequestID: "r2"})
	if err != nil {
		t.Fatal(err)
	}
	if known, err := d.answered([]*pull{stranger}); err != nil || len(known) != 0 {
		t.Fatalf("a pull that is no repeat: %v %v, want nothing at once", known, err)
	}
	l.standby("")
	if known, err := d.answered([]*pull{p}); err != nil || !known[p.key] {
		t.Fatalf("with the standby: %v %v, want it answered", known, err)
	}
	if leases, err := d.recallLeases(t.Context(), p); err != nil || len(leases) != 1 {
		t.Fatalf("leases %v %v, want the one", leases, err)
	}
}
