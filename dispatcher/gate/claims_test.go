package gate

import (
	"slices"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

var start = time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)

func noQueue(shares.QueueID) string { return "" }

// told is claims that have followed some entries.
func told(t *testing.T, entries ...entry.Entry) *Claims {
	t.Helper()
	cs := NewClaims()
	for _, e := range append([]entry.Entry{entry.Tick{Now: start}}, entries...) {
		if _, err := cs.Apply(e, noQueue); err != nil {
			t.Fatalf("%+v: %v", e, err)
		}
	}
	return cs
}

func at(node string) resource.Place { return resource.Place{Queue: "q", Node: node} }

func (cs *Claims) text(job int64) string { return cs.Of(job).Sort().Text() }

func jobsOf(task, low, high int64, claims ...int64) entry.Joined {
	return entry.Joined{Task: task, Low: low, High: high, Claims: claims}
}

// TestSorts says what claims ask of a slot in every state of theirs.
func TestSorts(t *testing.T) {
	t.Parallel()
	gpu := shares.ClaimTemplate{Name: "gpu", Devices: map[string]int{"gpu": 2}, MaxSharers: 2, Linger: time.Minute, Resources: map[string]int64{"licence": 3}}
	cs := told(t, entry.Claimed{Claim: 1, Task: 7, Key: "a", Jobs: 3, Template: gpu, SharingID: "ann"}, jobsOf(7, 1, 3, 1))
	want := func(now string) {
		t.Helper()
		if got := cs.text(3); got != now {
			t.Fatalf("%q, want %q", got, now)
		}
	}
	want(`node device "gpu" 2 unit "licence" 3 "ann" "" `)
	if _, err := cs.Granted(Grant{Job: 1, Place: at("n1"), Queue: 4, Share: 9}); err == nil {
		t.Fatal("it was granted without devices")
	}
	grant := func(job int64, node string, devices ...string) Effects {
		t.Helper()
		if _, err := cs.Apply(entry.Took{Job: job, Devices: devices}, noQueue); err != nil {
			t.Fatal(err)
		}
		fx, err := cs.Granted(Grant{Job: job, Place: at(node), Queue: 4, Share: 9})
		if err != nil {
			t.Fatal(err)
		}
		return fx
	}
	fx := grant(1, "n1", "gpu:0", "gpu:1")
	if len(fx.Charges) != 1 || fx.Charges[0].Back || fx.Charges[0].Queue != 4 || fx.Charges[0].Units["licence"] != 3 || len(fx.Moved) != 1 || !fx.Costs {
		t.Fatalf("%+v", fx)
	}
	want(`at "q" "n1" limit 1 `)
	if free := cs.Free(at("n1"), []string{"gpu:0", "gpu:2"}); !slices.Equal(free, []string{"gpu:2"}) {
		t.Fatalf("free: %v", free)
	}
	if _, err := cs.Granted(Grant{Job: 2, Place: at("n2")}); err == nil {
		t.Fatal("it was granted elsewhere")
	}
	if fx = grant(2, "n1"); len(fx.Turned) != 1 || !fx.Turned[0].Full() || len(fx.Charges) != 0 {
		t.Fatalf("%+v", fx)
	}
	if _, reason, claim := cs.Pick(3, resource.Offer{Place: at("n1")}); reason != resource.ClaimFull || claim != 1 {
		t.Fatalf("%s of claim %d", reason, claim)
	}
	if fx, _ = cs.Ended(End{Job: 1}); len(fx.Turned) != 1 || fx.Turned[0].Full() {
		t.Fatalf("%+v", fx)
	}
	if fx, _ = cs.Ended(End{Job: 2, Again: true}); len(fx.Charges) != 0 || cs.text(3) != `at "q" "n1" limit 1 ` {
		t.Fatalf("it does not linger: %+v", fx)
	}
	fx, _ = cs.Apply(entry.Tick{Now: start.Add(time.Minute)}, noQueue)
	if len(fx.Charges) != 1 || !fx.Charges[0].Back {
		t.Fatalf("it lingers for ever: %+v", fx)
	}
	want(`node device "gpu" 2 unit "licence" 3 "ann" "" `)
	if _, err := cs.Apply(entry.Unclaimed{Claim: 1}, noQueue); err != nil {
		t.Fatal(err)
	}
	want("missing")
	if _, err := cs.Apply(entry.Dropped{Low: 2, High: 3}, noQueue); err != nil || cs.Any() {
		t.Fatalf("%v, claims are left: %v", err, cs.Any())
	}
}

// A template that the site lacks comes with the version that has it; a lost lease unbinds at once; what is left of a gang starts together.
func TestTemplatesAndGangs(t *testing.T) {
	t.Parallel()
	gang := shares.ClaimTemplate{Name: "pair", Node: true, Gang: true, Linger: time.Hour}
	cs := told(t, entry.Claimed{Claim: 1, Task: 7, Key: "a", Jobs: 3, Template: shares.ClaimTemplate{Name: "pair"}, Missing: true}, jobsOf(7, 1, 2, 1))
	if cs.text(1) != "missing" {
		t.Fatal(cs.text(1))
	}
	v := shares.Version{ClaimTemplates: []shares.ClaimTemplate{gang}}
	again := NewClaims() // as a daemon has it that starts meanwhile
	if err := again.Restore(cs.Save(), start); err != nil {
		t.Fatal(err)
	}
	for _, cs := range []*Claims{again, cs} {
		if _, err := cs.Apply(entry.Adopted{Site: &v}, noQueue); err != nil || cs.text(1) != "node gang " || len(cs.lacking) > 0 {
			t.Fatal(err, cs.text(1), cs.lacking)
		}
	}
	ready := func(n int64) func(*Party) int64 { return func(*Party) int64 { return n } }
	if g, ok := cs.Gang(1, ready(2)); !ok || g.Lacks == "" {
		t.Fatalf("one is to be made: %+v", g)
	}
	if _, err := cs.Apply(entry.Dropped{Claim: 1, Unmade: 1}, noQueue); err != nil {
		t.Fatal(err)
	}
	if g, ok := cs.Gang(1, ready(1)); !ok || g.Lacks == "" {
		t.Fatalf("one is not ready: %+v", g)
	}
	if g, ok := cs.Gang(1, ready(2)); !ok || g.Lacks != "" {
		t.Fatalf("%+v", g)
	}
	if claim, ok := cs.GangOf(1); !ok || claim != 1 {
		t.Fatalf("the gang of job 1 is %d, %v", claim, ok)
	}
	for job := range int64(2) {
		if _, err := cs.Granted(Grant{Job: job + 1, Place: at("n1")}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := cs.Ended(End{Job: 1, Again: true}); err != nil || cs.text(1) != `at "q" "n1" ` {
		t.Fatal(err, cs.text(1))
	}
	if _, err := cs.Ended(End{Job: 2, Again: true}); err != nil || cs.text(1) != "node gang " {
		t.Fatal("it lingers:", err, cs.text(1))
	}
}

// A claim that is said again gets more jobs, or is made anew when it is over; whoever says it cannot know which.
func TestClaimsSaidAgain(t *testing.T) {
	t.Parallel()
	claimed := func(jobs int) entry.Claimed {
		return entry.Claimed{Claim: 1, Task: 7, Key: "a", Jobs: jobs, Template: shares.ClaimTemplate{Name: "n", Node: true}}
	}
	missing := entry.Claimed{Claim: 2, Key: "disk", Missing: true}
	cs := told(t, claimed(1), jobsOf(7, 1, 1, 1), claimed(2), jobsOf(7, 2, 3, 1))
	if c, _ := cs.Claim(1); c.Jobs != 3 {
		t.Errorf("%d jobs share it, want 3", c.Jobs)
	}
	for _, e := range []entry.Entry{entry.Dropped{Low: 1, High: 3}, entry.Unclaimed{Claim: 1}} {
		if _, err := cs.Apply(e, noQueue); err != nil || cs.Any() {
			t.Fatalf("%+v: %v, a claim is left: %v", e, err, cs.Any())
		}
	}
	for _, e := range []entry.Entry{claimed(1), jobsOf(7, 4, 4, 1), missing, missing, entry.Claimed{Claim: 2, Key: "disk", Node: "n1"}, missing} {
		if _, err := cs.Apply(e, noQueue); err != nil {
			t.Fatalf("%+v: %v", e, err)
		}
	}
	if c, _ := cs.Claim(1); c.Jobs != 1 || c.State != resource.ClaimPending {
		t.Errorf("%+v: want one made anew, for one job", c)
	}
	if c, _ := cs.Claim(2); c.State != resource.ClaimBound || c.Place.Node != "n1" {
		t.Errorf("%+v: want it where people made it", c)
	}
}

// What cannot follow what was told before is refused, and changes nothing.
func TestEntriesThatCannotBe(t *testing.T) {
	t.Parallel()
	cs := told(t, entry.Claimed{Claim: 1, Task: 7, Key: "a", Jobs: 2, Template: shares.ClaimTemplate{Name: "n", Node: true}}, jobsOf(7, 1, 2, 1),
		entry.Claimed{Claim: 2, Key: "disk", Node: "n1", Devices: []string{"gpu:0"}})
	var before, after []any
	cs.Digest(func(values ...any) { before = append(before, values...) })
	for _, e := range []entry.Entry{entry.Claimed{Claim: 1, Task: 7}, entry.Claimed{Claim: 2, Key: "disk", Node: "n2"}, jobsOf(7, 2, 3, 1),
		jobsOf(7, 5, 5, 1), jobsOf(7, 5, 5, 9), jobsOf(7, 5, 5), jobsOf(7, 5, 5, 2, 2), entry.Dropped{Claim: 1, Unmade: 1},
		entry.Claimed{Claim: 3, Key: "other", Node: "n1", Devices: []string{"gpu:0"}}} {
		if _, err := cs.Apply(e, noQueue); err == nil {
			t.Errorf("%+v was applied", e)
		}
	}
	if _, err := cs.Ended(End{Job: 1}); err == nil {
		t.Error("a job ended that does not run")
	}
	cs.Digest(func(values ...any) { after = append(after, values...) })
	if len(before) != len(after) {
		t.Errorf("%d values, %d after what was refused", len(before), len(after))
	}
	if fx := cs.Recharged(1, 5); len(fx.Charges) > 0 {
		t.Errorf("a claim that is not bound was charged: %+v", fx)
	}
}
