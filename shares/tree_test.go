package shares

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"
)

func plan(change func(*Plan)) Plan {
	p := DefaultPlan()
	change(&p)
	return p
}

func TestBuildLaysOutPreOrder(t *testing.T) {
	tree, err := Build([]Spec{
		{Name: "Prod", Plan: DefaultPlan(), Children: []Spec{{Name: "MC", Plan: DefaultPlan()}, {Name: "Rep", Plan: DefaultPlan()}}},
		{Name: "Test", Plan: DefaultPlan()},
	})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, n := range tree.Nodes {
		paths = append(paths, n.Path)
	}
	if want := []string{"", "Prod", "Prod/MC", "Prod/Rep", "Test"}; !slices.Equal(paths, want) {
		t.Fatalf("%q", paths)
	}
	if got := tree.Leaves(); !slices.Equal(got, []int{2, 3, 4}) {
		t.Fatalf("leaves %v", got)
	}
	tree.SetIDs(func(path string) ShareID { return ShareID(len(path)) })
	if i, ok := tree.ByID(8); !ok || tree.Nodes[i].Path != "Prod/Rep" {
		t.Fatalf("id 8 is %d %v", i, ok)
	}
	if _, ok := tree.ByID(0); ok {
		t.Fatal("id 0 is nobody's")
	}
}

func TestBuildReportsEverything(t *testing.T) {
	seven := Units(7000)
	for name, c := range map[string]struct {
		specs []Spec
		want  []string // path: field, in order
	}{
		"names": {[]Spec{{Name: "", Plan: DefaultPlan()}, {Name: "a/b", Plan: DefaultPlan()}, {Name: " c", Plan: DefaultPlan()},
			{Name: "D", Plan: DefaultPlan()}, {Name: "D", Plan: DefaultPlan()}}, []string{": name", "a/b: name", " c: name", "D: name"}},
		"weights": {[]Spec{{Name: "A", Plan: plan(func(p *Plan) { p.Weight = -1 })}, {Name: "B", Plan: plan(func(p *Plan) { p.Weight = math.Inf(1) })},
			{Name: "C", Plan: plan(func(p *Plan) { p.Weight = math.NaN() })}, {Name: "D", Plan: plan(func(p *Plan) { p.Weight = 1e300 })}},
			[]string{"A: weight", "B: weight", "C: weight", "D: weight"}},
		"all weights 0": {[]Spec{{Name: "A", Plan: DefaultPlan(), Children: []Spec{{Name: "x", Plan: plan(func(p *Plan) { p.Weight = 0 })}}}},
			[]string{"A/x: weight"}},
		"amounts": {[]Spec{{Name: "A", Plan: plan(func(p *Plan) { p.Min, p.Max = Of(7000), Of(6000) })},
			{Name: "B", Plan: plan(func(p *Plan) { p.Min, p.Max.ByPool = Of(7000), map[string]Units{"gpu": 6000} })},
			{Name: "C", Plan: plan(func(p *Plan) { p.Owned = Of(-1) })}}, []string{"A: min", "B: min", "C: owned"}},
		"lend_to": {[]Spec{{Name: "A", Plan: DefaultPlan(), Children: []Spec{{Name: "x", Plan: plan(func(p *Plan) { p.LendTo = "A" })},
			{Name: "y", Plan: plan(func(p *Plan) { p.LendTo = "B" })}}}, {Name: "B", Plan: DefaultPlan()}}, []string{"A/y: lend_to"}},
		"reclaim": {[]Spec{{Name: "A", Plan: plan(func(p *Plan) {
			p.Reclaim = &Reclaim{Grace: -1, Scope: "all", By: "luck", Rate: Rate{Jobs: -1, Per: 1}}
		})}}, []string{"A: reclaim.grace", "A: reclaim.rate", "A: reclaim.scope", "A: reclaim.by"}},
		"memory": {[]Spec{{Name: "A", Plan: plan(func(p *Plan) { p.HalfLife = -1 })}, {Name: "B", Plan: plan(func(p *Plan) { p.Clamp = Of(1) })},
			{Name: "C", Plan: plan(func(p *Plan) { p.Aging = &Aging{Max: -1} })}},
			[]string{"A: half_life", "B: clamp", "C: aging.per", "C: aging.points", "C: aging.max"}},
		"windows": {[]Spec{{Name: "A", Plan: plan(func(p *Plan) {
			p.Max = Of(6000)
			p.Windows = []Window{{When: "Mon-Fry 08:00-18:00", Min: &Amount{Any: &seven}}, {When: "Mon"}, {When: "Mon Mars/Base", Tier: new(int)}}
		})}}, []string{"A: plans[0].when", "A: plans[0].min", "A: plans[1].when", "A: plans[2].when", "A: plans[2].tier"}},
		"tier and rank": {[]Spec{{Name: "A"}}, []string{"A: tier", "A: weight"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Build(c.specs)
			var ps Problems
			if !errors.As(err, &ps) {
				t.Fatalf("error %v", err)
			}
			var got []string
			for _, p := range ps {
				got = append(got, p.Path+": "+p.Field)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q\n%v", got, c.want, err)
			}
		})
	}
}

func TestProblemSaysWhere(t *testing.T) {
	_, err := Build([]Spec{{Name: "A", Plan: DefaultPlan(), Children: []Spec{{Name: "x", Plan: DefaultPlan()}, {Name: "x", Plan: DefaultPlan()}}}})
	var ps Problems
	if !errors.As(err, &ps) || len(ps) != 1 || !slices.Equal(ps[0].At, []int{0, 1}) {
		t.Fatalf("%+v", ps)
	}
}

func fullPlan() Plan {
	w, tier, rank, none := 2.5, 3, 7, Units(0)
	return Plan{Weight: 70, Tier: 2, Owned: Amount{ByPool: map[string]Units{"gpu": 40_000, "cpu": 10_500}}, Min: Of(1500),
		Max: Amount{Any: Of(9_000_000).Any, ByPool: map[string]Units{"gpu": 64_000}}, Lend: Limit(Of(30_000)), Borrow: Limit(Of(Unlimited)),
		LendTo: "Prod", Rank: 5, Reclaim: &Reclaim{Grace: Duration(2 * time.Minute), MinRuntime: Duration(time.Hour),
			Rate: Rate{10, Duration(time.Minute)}, Scope: "lca", By: "rank"},
		Windows: []Window{{When: "Mon-Fri 08:00-18:00 Europe/Zurich", Weight: &w, Tier: &tier, Owned: &Amount{Any: &none},
			Lend: &Limit{Any: &none}, Rank: &rank}},
		HalfLife: Duration(24 * time.Hour), Clamp: Of(20_000), Aging: &Aging{Per: Duration(time.Hour), Points: 10, Max: 500}}
}

func TestPlanSurvivesJSONAndYAML(t *testing.T) {
	for name, p := range map[string]Plan{"default": DefaultPlan(), "full": fullPlan(), "weight 0": plan(func(p *Plan) { p.Weight = 0 })} {
		b, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var fromJSON Plan
		if err := json.Unmarshal(b, &fromJSON); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if d := cmp.Diff(p, fromJSON, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s: JSON %s\n%s", name, b, d)
		}
		fromYAML := DefaultPlan()
		if err := yaml.Unmarshal(b, &fromYAML); err != nil { // JSON is YAML, with the same keys
			t.Fatal(err)
		}
		if d := cmp.Diff(p, fromYAML, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s: YAML %s", name, d)
		}
	}
	b, _ := json.Marshal(DefaultPlan())
	if string(b) != `{"weight":1,"tier":1,"rank":10000}` {
		t.Errorf("%s", b)
	}
	var empty Plan
	if err := json.Unmarshal([]byte("{}"), &empty); err != nil || cmp.Diff(empty, DefaultPlan()) != "" {
		t.Errorf("an empty plan is %+v, %v", empty, err)
	}
}

func TestAmounts(t *testing.T) {
	for text, want := range map[string]Units{"40": 40_000, "0.001": 1, "10.2": 10_200, "1e3": 1_000_000} {
		var a Amount
		if err := json.Unmarshal([]byte(text), &a); err != nil || a.Any == nil || *a.Any != want {
			t.Errorf("%s: %v %v", text, a, err)
		}
	}
	for _, text := range []string{"", "x", "0.0001", "1e300", "NaN"} {
		var a Amount
		if err := json.Unmarshal([]byte(text), &a); err == nil {
			t.Errorf("%q: %v", text, a)
		}
	}
	for _, text := range []string{`"some"`, `true`, `{"gpu": "x"}`, `[1]`} {
		var a Amount
		var l Limit
		if json.Unmarshal([]byte(text), &a) == nil || json.Unmarshal([]byte(text), &l) == nil {
			t.Errorf("%s is taken", text)
		}
	}
	var l Limit
	if err := json.Unmarshal([]byte(`{"gpu": "none", "*": "all", "cpu": 3}`), &l); err != nil {
		t.Fatal(err)
	}
	if l.In("gpu") != 0 || l.In("cpu") != 3000 || l.In("x") != Unlimited || l.String() != "all, cpu: 3, gpu: none" {
		t.Errorf("%v", l)
	}
}

func TestPlanAt(t *testing.T) {
	p := fullPlan()
	monday := time.Date(2026, 11, 16, 9, 0, 0, 0, time.UTC)
	if got := p.At(monday); got.Weight != 2.5 || got.Tier != 3 || got.Rank != 7 || got.Lend.In("cpu") != 0 || got.Min.String() != "1.5" {
		t.Errorf("%+v", got)
	}
	if got := p.At(monday.Add(12 * time.Hour)); got.Weight != 70 {
		t.Errorf("%+v", got)
	}
	tree, err := Build([]Spec{{ID: 4, Name: "Prod", Plan: plan(func(p *Plan) { p.Windows = fullPlan().Windows })}})
	if err != nil {
		t.Fatal(err)
	}
	if now := tree.At(monday); now.Nodes[1].Plan.Weight != 2.5 || tree.Nodes[1].Plan.Weight != 1 || now.Nodes[1].ID != 4 {
		t.Errorf("%+v", now.Nodes[1])
	}
}

func TestDurationsAndRates(t *testing.T) {
	for text, want := range map[string]time.Duration{"90s": 90 * time.Second, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour} {
		if d, err := ParseDuration(text); err != nil || time.Duration(d) != want {
			t.Errorf("%s: %v %v", text, d, err)
		}
	}
	for _, bad := range []string{"", "d", "-1d", "1.5d", "x"} {
		if _, err := ParseDuration(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	var r Rate
	for _, bad := range []string{"10", "x/1m", "10/x", "/"} {
		if r.UnmarshalText([]byte(bad)) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestDiff(t *testing.T) {
	build := func(specs ...Spec) *Tree {
		tree, err := Build(specs)
		if err != nil {
			t.Fatal(err)
		}
		return tree
	}
	a := build(Spec{ID: 1, Name: "Prod", Plan: plan(func(p *Plan) { p.Weight = 70 }), Children: []Spec{{ID: 2, Name: "MC", Plan: DefaultPlan()},
		{ID: 3, Name: "Old", Plan: DefaultPlan()}}}, Spec{ID: 4, Name: "Test", Plan: DefaultPlan()})
	b := build(Spec{ID: 1, Name: "Production", Plan: plan(func(p *Plan) { p.Weight, p.Max = 50, Of(2000) }), Children: []Spec{
		{ID: 2, Name: "MC", Plan: DefaultPlan()}, {Name: "New", Plan: DefaultPlan()}}},
		Spec{ID: 5, Name: "Test", Plan: plan(func(p *Plan) { p.Windows = fullPlan().Windows })})
	var got []string
	for _, c := range Diff(a, b) {
		got = append(got, c.String())
	}
	want := []string{"Prod moved to Production", "Production: weight 70 → 50", "Production: max – → 2",
		"Production/New added", "Test added", "Prod/Old removed", "Test removed"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	c := build(Spec{Name: "Test", Plan: fullPlanFor("")})
	for _, ch := range Diff(build(Spec{ID: 9, Name: "Test", Plan: DefaultPlan()}), c) {
		if ch.Kind != Changed {
			t.Errorf("by path: %v", ch)
		}
		if ch.Field == "plans" && !strings.Contains(ch.After, "weight 2.5 tier 3 owned 0 lend none rank 7") {
			t.Errorf("window: %s", ch.After)
		}
	}
	if d := Diff(c, c); len(d) > 0 {
		t.Errorf("a tree differs from itself: %v", d)
	}
}

func fullPlanFor(lendTo string) Plan {
	p := fullPlan()
	p.LendTo = lendTo
	return p
}
