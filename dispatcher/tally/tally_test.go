package tally

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/retry"
)

// event is one thing that is counted, drawn.
func event(r *rapid.T) func(*Tally) {
	n, share := rapid.IntRange(0, 3).Draw(r, "n"), shares.ShareID(rapid.IntRange(1, 2).Draw(r, "share"))
	seconds := float64(n) * 8 // sums are exact
	outcome := rapid.SampledFrom([]entry.Outcome{entry.Finished, entry.Failed, entry.Lost, entry.Cancelled, entry.Returned}).Draw(r, "outcome")
	return rapid.SampledFrom([]func(*Tally){
		func(t *Tally) { t.Append(seconds, n, 3-n) }, func(t *Tally) { t.Decide(seconds) }, func(t *Tally) { t.Pull(seconds) },
		func(t *Tally) { t.Renew(n) }, func(t *Tally) { t.Age(seconds) }, func(t *Tally) { t.Wait("p", share, seconds) },
		func(t *Tally) { t.End(share, shares.QueueID(n), outcome) }, func(t *Tally) { t.Refuse([]gate.Gate{"", gate.Pool, gate.IO, gate.GangHold}[n]) },
		func(t *Tally) { t.Judge(retry.Judgement{Rule: "r", Over: n == 1, Rehearsed: []string{"q"}[:n/3]}) },
		func(t *Tally) { t.Close(outcome, n == 1, seconds) }, func(t *Tally) { t.Expired++ }, func(t *Tally) { t.Passed += int64(n) }, func(t *Tally) { t.Ordered++ },
	}).Draw(r, "event")
}

// copied is a tally that shares nothing with another.
func copied(t Tally) Tally {
	for _, h := range []*Histogram{&t.Appends, &t.Grants, &t.Decides, &t.Pulls, &t.Ages, &t.Renewed, &t.Ended} {
		h.Counts = slices.Clone(h.Counts)
	}
	t.Waits = maps.Clone(t.Waits)
	for key, h := range t.Waits {
		h.Counts = slices.Clone(h.Counts)
		t.Waits[key] = h
	}
	t.Ends, t.Refused, t.Judged, t.Closed = maps.Clone(t.Ends), maps.Clone(t.Refused), maps.Clone(t.Judged), maps.Clone(t.Closed)
	return t
}

// However events are cut into tallies, their sum is one tally of all; and a tally that was added stays as it was.
func TestSumsOfTallies(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var whole, sum, part Tally
		var given, copies []Tally
		for range rapid.IntRange(1, 40).Draw(r, "events") {
			count := event(r)
			count(&whole)
			count(&part)
			if rapid.Bool().Draw(r, "hand over") {
				given, copies = append(given, part), append(copies, copied(part))
				sum.Add(part)
				part = Tally{}
			}
		}
		sum.Add(part)
		if diff := cmp.Diff(copies, given); diff != "" {
			r.Fatalf("Add changed what it was given:\n%s", diff)
		}
		if diff := cmp.Diff(whole, sum); diff != "" {
			r.Fatalf("whole (-), sum of parts (+):\n%s", diff)
		}
	})
}

// A value is in the first bucket that it is not above.
func TestBuckets(t *testing.T) {
	t.Parallel()
	var tally Tally
	for _, seconds := range []float64{0, 1, 1.5, 5, 600, 601} {
		tally.Age(seconds)
	}
	tally.Wait("p", 1, -3)
	if diff := cmp.Diff(Histogram{Counts: []uint64{2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1}, Sum: 1208.5}, tally.Ages); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	if h := tally.Waits[Wait{"p", 1}]; h.Counts[0] != 1 || h.Sum != 0 {
		t.Errorf("a wait below zero is %+v", h)
	}
	tally = Tally{}
	tally.Append(0.001, 0, 7)
	if tally.Appends.Counts != nil || tally.Grants.Counts != nil || tally.Ended.Counts[2] != 1 {
		t.Errorf("an append without grants is %+v", tally)
	}
}

// Names are those that dashboards know.
func TestNames(t *testing.T) {
	t.Parallel()
	var tally Tally
	for by, want := range map[gate.Gate]string{"": "no_job", gate.Site: "no_job", gate.Pool: "pool_limit", gate.Queue: "queue_limit", gate.Lend: "lend_limit",
		gate.GangHold: "gang_hold", gate.Capacity: "resource_capacity", "black_hole": "black_hole"} {
		tally.Refuse(by)
		if tally.Refused[want] == 0 {
			t.Errorf("%q is in %v", by, tally.Refused)
		}
	}
	for want, j := range map[Judged]retry.Judgement{{"", "again"}: {}, {"a", "later"}: {Rule: "a", Backoff: time.Second},
		{"b", "failed"}: {Rule: "b", Over: true, Backoff: time.Second}, {"c", "quarantined"}: {Rule: "c", Over: true, Quarantine: true}} {
		tally.Judge(j)
		if tally.Judged[want] != 1 {
			t.Errorf("%+v is in %v", j, tally.Judged)
		}
	}
	tally.Judge(retry.Judgement{Rehearsed: []string{"d", "e"}})
	if tally.Judged[Judged{"d", "dry_run"}] != 1 || tally.Judged[Judged{"e", "dry_run"}] != 1 || tally.Judged[Judged{"", "again"}] != 2 {
		t.Errorf("rehearsed: %v", tally.Judged)
	}
	tally.Close(entry.Returned, true, 5)
	tally.Close(entry.Returned, false, 7)
	tally.Close(entry.Finished, true, 9)
	if diff := cmp.Diff(map[string]int64{"confirmed": 1, "revoked": 1, "finished": 1}, tally.Closed); diff != "" || tally.Lost != 12 {
		t.Errorf("lost %v, want 12; closed: %s", tally.Lost, diff)
	}
	if diff := cmp.Diff([]string{"cancelled", "failed", "finished", "lost", "revoked"}, Outcomes()); diff != "" {
		t.Error(diff)
	}
}
