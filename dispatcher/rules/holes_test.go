package rules

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
	policy "github.com/divvyhq/divvy/shares/retry"
)

// holeWorld has a bad queue and a good one.
func holeWorld(t *testing.T) *world {
	w := newWorld(t, []shares.Spec{node("A", 1)}, slots("bad", 40), slots("good", 40))
	w.adopt(func(v *shares.Version) {
		v.Attempts = &policy.Policy{BlackHole: policy.BlackHole{Fails: 0.9, Sample: 10, Window: time.Hour, Probe: 10 * time.Minute}}
	})
	w.enqueue("A", 100, 10, job.Requirements{})
	for _, queue := range []string{"bad", "good"} {
		for range 40 {
			w.must(queue)
		}
	}
	return w
}

// ends has n attempts at a queue end.
func (w *world) ends(queue string, n int, outcome entry.Outcome) {
	w.t.Helper()
	q, _ := w.m.Queue(queue)
	for _, id := range slices.Sorted(maps.Keys(w.leases)) {
		if n > 0 && w.leases[id].Queue == q.ID {
			w.end(w.leases[id], outcome, "")
			n--
		}
	}
	if n > 0 {
		w.t.Fatalf("%d leases too few at %s", n, queue)
	}
}

// watch makes a look and returns what the log is to hear of it.
func (w *world) watch() (said []entry.Entry) {
	w.t.Helper()
	if _, err := w.rules.WatchQueues(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return w.take()
}

// hears checks what a look says.
func (w *world) hears(want ...entry.Entry) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.watch()); diff != "" {
		w.t.Fatalf("said (-want +got):\n%s", diff)
	}
}

var (
	isHole = entry.Holed{Queue: 1, Is: true, ProbeS: 600}
	noHole = entry.Holed{Queue: 1}
)

func TestBlackHole(t *testing.T) {
	w := holeWorld(t)
	w.ends("bad", 10, entry.Failed)
	w.hears() // nothing is known of other queues
	w.ends("good", 5, entry.Finished)
	w.hears(isHole)
	w.hears()
	holes, err := w.rules.Holes(t.Context())
	if err != nil || len(holes) != 1 || holes[0].Ends != 10 || holes[0].Fails != 10 || holes[0].ProbeS != 600 {
		t.Fatalf("%+v, %v", holes, err)
	}
	for _, outcome := range []entry.Outcome{entry.Finished, entry.Finished, entry.Failed, entry.Finished, entry.Finished} {
		w.ends("bad", 1, outcome)
		w.hears()
	}
	w.rules = w.daemon() // a new leader goes on
	w.hears()
	w.ends("bad", 1, entry.Finished)
	w.hears(noHole)
	w.hears()
	w.ends("bad", 9, entry.Failed)
	w.hears() // it begins anew
}

// What runs for a window without a failure lets the queue go; so does a site that does not want to know, or has the queue no
// more.
func TestBlackHoleEnds(t *testing.T) {
	for name, change := range map[string]func(w *world) []entry.Entry{
		"none failed for a window": func(w *world) []entry.Entry {
			pgtest.Age(t, w.pool, "black_holes", "bad_at", 2*time.Hour)
			return []entry.Entry{noHole}
		},
		"half of that": func(w *world) []entry.Entry {
			pgtest.Age(t, w.pool, "black_holes", "bad_at", 30*time.Minute)
			return nil
		},
		"no rule": func(w *world) []entry.Entry {
			w.adopt(func(v *shares.Version) { v.Attempts = nil })
			return []entry.Entry{noHole}
		},
		"another period": func(w *world) []entry.Entry {
			w.adopt(func(v *shares.Version) {
				v.Attempts = &policy.Policy{BlackHole: policy.BlackHole{Fails: 0.9, Sample: 10, Window: time.Hour, Probe: time.Minute}}
			})
			return []entry.Entry{entry.Holed{Queue: 1, Is: true, ProbeS: 60}}
		},
		"no queue": func(w *world) []entry.Entry {
			w.exec("INSERT INTO black_holes (queue_id, ends, fails, probe_s) VALUES (9, 10, 10, 600)")
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := holeWorld(t)
			w.ends("bad", 10, entry.Failed)
			w.ends("good", 5, entry.Finished)
			w.hears(isHole)
			w.hears(change(w)...)
			w.hears()
		})
	}
}

// Where the same jobs fail elsewhere too it is theirs. A new leader has counted nothing.
func TestNoBlackHole(t *testing.T) {
	w := holeWorld(t)
	w.ends("bad", 10, entry.Failed)
	w.ends("good", 9, entry.Failed)
	w.ends("good", 5, entry.Finished)
	w.hears()
	w.ends("good", 9, entry.Finished)
	w.rules.Begin()
	w.hears()
}
