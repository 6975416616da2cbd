//go:build chaos

package e2e

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// failoverMargin is how much longer than the database itself divvy may be away.
const failoverMargin = 2 * time.Second

// failover is a fault of a replicated database.
type failover struct {
	name, what string
	short      bool
	changes    int           // of the primary
	settles    time.Duration // how long it may take to have an effect
	most       time.Duration // without an answer of the database, at the most: what Patroni is told
	strike     func(*testing.T, *pair)
	after      func(*testing.T, *pair) // makes the pair whole again
}

var failovers = []failover{
	{name: "primary-killed", what: "SIGKILL of the primary node, Patroni and all of PostgreSQL at once", short: true, changes: 1, most: 25 * time.Second,
		strike: func(t *testing.T, p *pair) { p.must(t, "kill", p.primary(t)) },
		after: func(t *testing.T, p *pair) {
			p.must(t, "node", "1") // whichever it was: one that runs stays as it is
			p.must(t, "node", "2")
		}},
	{name: "switchover", what: "`patronictl switchover`", short: true, changes: 1, most: 15 * time.Second,
		strike: func(t *testing.T, p *pair) { p.must(t, "switchover") }},
	{name: "etcd-paused", what: "SIGSTOP of etcd for 30 s, three terms of the primary: `failsafe_mode`", settles: 5 * time.Second, most: 3 * time.Second,
		strike: func(t *testing.T, p *pair) {
			p.must(t, "pause", "etcd")
			if !pause(t.Context(), 30*time.Second) {
				t.Fatal(t.Context().Err())
			}
			p.must(t, "resume", "etcd") // it may be only now that somebody takes over
		}},
	{name: "standby-killed", what: "SIGKILL of the standby: commits wait until Patroni goes on without it", settles: 5 * time.Second, most: 15 * time.Second,
		strike: func(t *testing.T, p *pair) { p.must(t, "kill", p.standby(t)) },
		after: func(t *testing.T, p *pair) {
			p.must(t, "node", "1")
			p.must(t, "node", "2")
		}},
}

// failedOver is a row of docs/failovers.csv, of one play.
type failedOver struct {
	result
	Failover   bool   `json:"failover"`
	PostgreSQL string `json:"postgresql"`
	AwayMS     int64  `json:"away_ms"` // from the last write that was answered until the next one, for a plain client
	Answers503 int64  `json:"answers_503"`
	NoJobs     int    `json:"no_jobs"` // pulls that were told so while there were jobs for them
}

// Two PostgreSQL nodes under Patroni with a standby in step, two daemons that know both by one DSN, 200 pilots. Something
// happens to a node or to etcd; then all is recounted as after every fault of TestChaos. The short form has a killed
// primary and a switchover; DIVVY_LONG plays all. A single "no jobs" that is
// wrong fails the test. DIVVY_FAILOVERS names a file that results are added to.
func TestPatroni(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Run("play", func(t *testing.T) {
		p := newPair(t)
		for i, f := range failovers {
			if f.short || os.Getenv("DIVVY_LONG") != "" {
				t.Run(f.name, func(t *testing.T) {
					if i > 0 {
						p.must(t, "wait", "90")
					}
					f.play(t, p)
				})
			}
		}
	})
	goleak.VerifyNone(t, before)
}

func (f failover) play(t *testing.T, p *pair) {
	c := &chaosPlay{storm: &storm{t: t, seed: seedOf(t), jobs: 3000, mayVanish: 5, pace: 300, tasks: map[int64]work{}}}
	c.name = fmt.Sprintf("failover_%d", playNumber.Add(1))
	c.dsn = p.database(t, c.name)
	for range 2 {
		d := serve(t, c.dsn, "--lease-first", leaseFirst.String(), "--lease-ttl", leaseTTL.String(),
			"--lease-renew", leaseRenew.String(), "--connections", "10")
		c.fleet.add(d)
		c.links = append(c.links, &link{daemon: d, url: d.client.URL()})
	}
	apply(t, c.fleet.oldest().client, chaosSite)
	var away time.Duration
	r := c.run(t, fault{name: f.name, what: f.what, pilots: 200, strike: func(t *testing.T, c *chaosPlay) { away = f.happens(t, c, p) }})
	back := time.Duration(r.RecoveryMS) * time.Millisecond
	t.Logf("%s: database away for %v, service back %v later; %d lost, %d double, %d answers 503, %d times no jobs", f.name,
		away.Round(time.Millisecond), back, r.Lost, r.Double, c.away.Load(), c.refusedWrongly)
	if away > f.most {
		t.Errorf("the database was away for %v, want at most %v", away, f.most)
	}
	if back > failoverMargin {
		t.Errorf("divvy was back %v after the database, want at most %v", back, failoverMargin)
	}
	failedOver{result: r, Failover: true, PostgreSQL: p.must(t, "psql", "-d", "postgres", "-c", "SHOW server_version"), AwayMS: away.Milliseconds(),
		Answers503: c.away.Load(), NoJobs: c.refusedWrongly}.note(t)
	if f.after != nil {
		f.after(t, p)
	}
}

// happens lets it happen, and returns how long a plain client had no answer. The play's fault is over when it had one again.
func (f failover) happens(t *testing.T, c *chaosPlay, p *pair) time.Duration {
	t.Helper()
	watch := startProbe(t, c.dsn)
	defer watch.stop()
	eventually(t, 30*time.Second, "an answer before it", func() bool { _, _, _, last := watch.seen(); return last > 0 })
	c.strike()
	c.busyWhile(t, func() {
		f.strike(t, p)
		struck := wall()
		eventually(t, 2*time.Minute, "an answer after it", func() bool {
			_, _, changes, last := watch.seen()
			return changes >= f.changes && last > struck+int64(f.settles)
		})
	})
	gap, end, changes, _ := watch.seen()
	if c.healed = end; changes != f.changes {
		t.Errorf("the primary changed %d times, want %d (%v)", changes, f.changes, watch.last)
	}
	return gap
}

// note adds the result to the file of DIVVY_FAILOVERS.
func (r failedOver) note(t *testing.T) {
	r.Failed = t.Failed()
	addTo(t, "DIVVY_FAILOVERS", r)
}
