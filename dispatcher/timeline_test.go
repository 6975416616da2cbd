package dispatcher

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/divvyhq/divvy/dispatcher/job"
)

// A failover to a standby that lacks a commit which the daemon has counted, since PostgreSQL showed it while nobody had
// answered it: what the daemon knows is of another timeline. It grants nothing by it, not even a batch that it has decided, and
// starts anew; then limits hold, and nobody is told "no jobs" over units that are free.
func TestFailoverLosesWhatWasCounted(t *testing.T) {
	for name, lost := range map[string]func(*testing.T, *fixture, *Dispatcher, leaseBatch) (free int){
		"an end": func(_ *testing.T, f *fixture, d *Dispatcher, b leaseBatch) int {
			key := endsOf(t, b, Finished)[0].key
			m := move{Before: isLeased, After: isNone, N: 1}
			f.scan(&m.Task, "SELECT task_id FROM leases WHERE job_id = $1", key.job)
			f.scan(&m.Share, "SELECT share_id FROM leases WHERE job_id = $1", key.job)
			f.scan(&m.Shape, "SELECT shape_id FROM leases WHERE job_id = $1", key.job)
			f.scan(&m.Queue, "SELECT queue_id FROM leases WHERE job_id = $1", key.job)
			f.scan(&m.Units, "SELECT units FROM leases WHERE job_id = $1", key.job)
			d.bookEnds(context.Background(), d.lane(firstEndLane), []move{m})
			return 4
		},
		"a grant": func(t *testing.T, _ *fixture, d *Dispatcher, _ leaseBatch) int {
			decided(t, d, 2)
			return 4
		},
		"nothing": func(*testing.T, *fixture, *Dispatcher, leaseBatch) int { return 4 },
	} {
		t.Run(name, func(t *testing.T) {
			f := limited(t, 6)
			rows := func(of string) (n int) {
				f.scan(&n, "SELECT count(*) FROM "+of)
				return n
			}
			f.enqueue(batch{share: "A", n: 20})
			d, other := f.open(), f.open()
			b := decided(t, d, 2)
			d.lease(t.Context(), d.lane(firstGrantLane), b)
			if _, err := other.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			free := lost(t, f, d, b)
			late := decided(t, d, 1)
			f.exec("UPDATE daemons SET timeline = '00000000'") // of the server that was
			d.lease(t.Context(), d.lane(firstGrantLane+1), late)
			if n := rows("leases"); n != 2 {
				t.Fatalf("%d leases, 2 of them by what is known on this timeline", n)
			}
			runs(t, d)
			runs(t, other)
			eventually(t, "both start anew", func() bool {
				return rows("daemons WHERE closed_at IS NULL AND timeline = divvy_timeline()") == 2
			})
			for range free - 1 { // the pull of the late batch waits on
				if _, err := other.Pull(t.Context(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 1}, WaitS: 30}); err != nil {
					t.Fatal(err)
				}
			}
			eventually(t, "all slots are taken", func() bool { return rows("leases") == 6 })
			noJob(t, other, "q")
			f.balanced(d, other)
			f.recount()
		})
	}
}

// A lease worker that has asked for its lane just before its daemon starts anew grants what it then decides on the new one.
func TestStartsAnewUnderALeaseWorker(t *testing.T) {
	f := limited(t, 6)
	f.enqueue(batch{share: "A", n: 3})
	d := f.open()
	former := d.lane(firstGrantLane)
	f.exec("UPDATE daemons SET timeline = '00000000'")
	if _, err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d.lane(firstGrantLane) == former {
		t.Fatal("it did not start anew")
	}
	p, err := newPull(PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 1}, WaitS: 60})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.admit(p); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pull is decided", func() bool { // reads and takes come first
		d.leaseOnce(t.Context(), former)
		var decided bool
		f.scan(&decided, "SELECT count(*) > 0 FROM leases")
		return decided || testutil.ToFloat64(d.metrics.outdated) > 0
	})
	if n := testutil.ToFloat64(d.metrics.outdated); n > 0 {
		t.Errorf("%g batches were decided for a daemon that is closed", n)
	}
	f.balanced(d)
	f.recount()
}
