package resource

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/shares"
)

var (
	stepNow   = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	stepHere  = Place{"Q", "n1"}
	stepThere = Place{"Q", "n2"}
	stepPool  = shares.ClaimTemplate{Name: "pool", Resources: map[string]int64{"gpu": 4}, Node: true, Linger: time.Minute}
)

// stepClaim is a claim in a state, with so many sharers and jobs: how it would have come to that.
func stepClaim(state ClaimState, sharers, jobs int) Claim {
	c := NewClaim(stepPool, jobs)
	c.State, c.Sharers = state, sharers
	if state == ClaimBound || state == ClaimDraining {
		c.Place, c.Local, c.Charge = stepHere, true, Charge{Payer{7, "alice"}, stepPool.Resources}
	}
	if state == ClaimBound && sharers == 0 {
		c.Since = stepNow.Add(-time.Minute)
	}
	return c
}

// Every pair of a state (with somebody left who holds the claim, or may, or not) and an event. Words: the next state,
// sharers/jobs, then what else must happen.
func TestStepPairs(t *testing.T) {
	states := []struct {
		name string
		Claim
	}{
		{"pending 2 jobs", stepClaim(ClaimPending, 0, 2)}, {"pending 1 job", stepClaim(ClaimPending, 0, 1)},
		{"bound 2/3", stepClaim(ClaimBound, 2, 3)}, {"bound 1/2", stepClaim(ClaimBound, 1, 2)}, {"bound 1/1", stepClaim(ClaimBound, 1, 1)},
		{"idle 0/2", stepClaim(ClaimBound, 0, 2)}, {"idle 0/1", stepClaim(ClaimBound, 0, 1)},
		{"draining 2", stepClaim(ClaimDraining, 2, 2)}, {"draining 1", stepClaim(ClaimDraining, 1, 1)}, {"released", stepClaim(ClaimReleased, 0, 0)},
		{"outside 1", func() Claim { c := OutsideClaim(stepHere, nil, 0); c.Sharers = 1; return c }()},
	}
	events := []struct {
		name string
		ClaimEvent
		want string // a word for each state, separated by |; = means: nothing
	}{
		{"granted here", ClaimEvent{Verb: Granted, Offer: Offer{Place: stepHere}, Payer: Payer{8, "bob"}},
			"bound 1/2 charge|bound 1/1 charge|bound 3/3|bound 2/2|no claim_not_held|bound 1/2|bound 1/1|no claim_draining|no claim_draining|no claim_released|bound 2/0"},
		{"granted there", ClaimEvent{Verb: Granted, Offer: Offer{Place: stepThere}, Payer: Payer{8, "bob"}},
			"bound 1/2 charge|bound 1/1 charge|no claim_bound_elsewhere|no claim_bound_elsewhere|no claim_bound_elsewhere|no claim_bound_elsewhere|no claim_bound_elsewhere|no claim_draining|no claim_draining|no claim_released|no claim_bound_elsewhere"},
		{"granted nowhere", ClaimEvent{Verb: Granted, Offer: Offer{Place: Place{"Q", ""}}},
			"no claim_needs_node|no claim_needs_node|no claim_bound_elsewhere|no claim_bound_elsewhere|no claim_bound_elsewhere|no claim_bound_elsewhere|no claim_bound_elsewhere|no claim_draining|no claim_draining|no claim_released|no claim_bound_elsewhere"},
		{"ended", ClaimEvent{Verb: Ended, At: stepNow},
			"no claim_not_held|no claim_not_held|bound 1/2|bound 0/1 idle look|released 0/0 refund|no claim_not_held|no claim_not_held|draining 1/1|released 0/0 refund|no claim_not_held|bound 0/0"},
		{"ended, again", ClaimEvent{Verb: Ended, Again: true, At: stepNow},
			"no claim_not_held|no claim_not_held|bound 1/3|bound 0/2 idle look|bound 0/1 idle look|no claim_not_held|no claim_not_held|draining 1/1|released 0/0 refund|no claim_not_held|bound 0/0"},
		{"lost", ClaimEvent{Verb: Lost, At: stepNow},
			"no claim_not_held|no claim_not_held|bound 1/2|pending 0/1 refund|released 0/0 refund|no claim_not_held|no claim_not_held|draining 1/1|released 0/0 refund|no claim_not_held|bound 0/0"},
		{"lost, again", ClaimEvent{Verb: Lost, Again: true, At: stepNow},
			"no claim_not_held|no claim_not_held|bound 1/3|pending 0/2 refund|pending 0/1 refund|no claim_not_held|no claim_not_held|draining 1/1|released 0/0 refund|no claim_not_held|bound 0/0"},
		{"scaled away", ClaimEvent{Verb: ScaledAway},
			"released 0/0|released 0/0|draining 2/2|draining 1/1|draining 1/1|released 0/0 refund|released 0/0 refund|=|=|=|="},
		{"linger over", ClaimEvent{Verb: LingerOver, At: stepNow}, "=|=|=|=|=|pending 0/2 refund|pending 0/1 refund|=|=|=|="},
		{"linger not over", ClaimEvent{Verb: LingerOver, At: stepNow.Add(-1)}, "=|=|=|=|=|=|=|=|=|=|="},
		{"template set", ClaimEvent{Verb: TemplateSet, Template: stepPool}, "=|=|=|=|=|=|=|=|=|=|="},
		{"joined", ClaimEvent{Verb: Joined},
			"pending 0/3|pending 0/2|bound 2/4|bound 1/3|bound 1/2|bound 0/3 idle|bound 0/2 idle|no claim_draining|no claim_draining|no claim_released|="},
		{"dropped", ClaimEvent{Verb: Dropped},
			"pending 0/1|released 0/0|bound 2/2|bound 1/1|no claim_not_held|bound 0/1 idle|released 0/0 refund|=|=|=|="},
	}
	for _, e := range events {
		wants := strings.Split(e.want, "|")
		if len(wants) != len(states) {
			t.Fatalf("%s: %d words", e.name, len(wants))
		}
		for i, s := range states {
			next, fx := s.Claim.Step(e.ClaimEvent)
			if got := stepWords(s.Claim, next, fx); got != wants[i] {
				t.Errorf("%s, %s: %q, want %q", s.name, e.name, got, wants[i])
			}
			if fx.Refund != nil && !cmp.Equal(*fx.Refund, s.Charge) {
				t.Errorf("%s, %s: gives back %v of %v", s.name, e.name, fx.Refund, s.Charge)
			}
			if fx.Charged != nil && !cmp.Equal(*fx.Charged, Charge{e.Payer, stepPool.Resources}) {
				t.Errorf("%s, %s: charges %v", s.name, e.name, fx.Charged)
			}
			if !fx.Look.IsZero() && !fx.Look.Equal(stepNow.Add(time.Minute)) {
				t.Errorf("%s, %s: looks again at %v", s.name, e.name, fx.Look)
			}
		}
	}
}

func stepWords(before, next Claim, fx ClaimEffects) string {
	same := cmp.Equal(before, next)
	switch {
	case fx.Refused != "" && same:
		return "no " + string(fx.Refused)
	case cmp.Equal(fx, ClaimEffects{}) && same:
		return "="
	}
	word := string(next.State) + " " + strconv.Itoa(next.Sharers) + "/" + strconv.Itoa(next.Jobs)
	for _, w := range []struct {
		is   bool
		word string
	}{
		{!next.Since.IsZero(), "idle"}, {fx.Charged != nil, "charge"}, {fx.Refund != nil, "refund"},
		{!fx.Look.IsZero(), "look"}, {next.Missing, "missing"}, {fx.Refused != "", "REFUSED"},
	} {
		if w.is {
			word += " " + w.word
		}
	}
	return word
}

// What a claim costs is a copy: a template that the caller changes later does not change what is given back.
func TestChargeIsACopy(t *testing.T) {
	units := map[string]int64{"gpu": 4}
	c, _ := NewClaim(shares.ClaimTemplate{Resources: units}, 1).Step(ClaimEvent{Verb: Granted})
	units["gpu"] = 9
	if _, fx := c.Step(ClaimEvent{Verb: Ended}); fx.Refund == nil || fx.Refund.Units["gpu"] != 4 {
		t.Errorf("%+v", fx)
	}
}

func TestAdmits(t *testing.T) {
	c := stepClaim(ClaimBound, 1, 2)
	admits := func(c Claim, at Place) ClaimReason {
		_, _, why := AdmitsAll([]Claim{c}, Offer{Place: at})
		return why
	}
	if here, there := admits(c, stepHere), admits(c, stepThere); here != "" || there != ClaimBoundElsewhere {
		t.Errorf("here %q, there %q", here, there)
	}
	c = stepClaim(ClaimPending, 0, 3)
	if nowhere := admits(c, Place{}); nowhere != ClaimNeedsNode {
		t.Errorf("without a node %q", nowhere)
	}
}

func TestEnvName(t *testing.T) {
	for name, want := range map[string]string{"gpu-pool": "GPU_POOL", "a.b_c9": "A_B_C9"} {
		if got := EnvName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
