package shares

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// running are unit jobs for all that the leaves hold, the later leaves' younger.
func running(p *Pool) []Running {
	var jobs []Running
	for _, leaf := range p.tree.Leaves() {
		for range p.Held(leaf) / 1000 {
			id := int64(len(jobs))
			jobs = append(jobs, Running{ID: id, Leaf: leaf, Units: 1000, Started: noon.Add(time.Duration(id) * time.Second)})
		}
	}
	return jobs
}

func TestVictimsOrderAndSpare(t *testing.T) {
	tree, err := Build([]Spec{{Name: "A", Plan: DefaultPlan()}, {Name: "B", Plan: DefaultPlan()}})
	if err != nil {
		t.Fatal(err)
	}
	job := func(id int64, units Units, age time.Duration) Running {
		return Running{ID: id, Leaf: 1, Units: units, Started: noon.Add(-age)}
	}
	jobs := []Running{job(1, 1000, time.Hour), job(2, 1000, time.Minute), job(3, 1000, time.Minute), job(4, 4000, 3*time.Minute), job(5, 3000, 2*time.Hour)}
	for _, c := range []struct {
		name        string
		units, each Units
		terms       Reclaim
		want        []int64
	}{
		{"the youngest, then the larger id", 1000, 1000, Reclaim{}, []int64{3}},
		{"two", 2000, 1000, Reclaim{}, []int64{3, 2}},
		{"what a wide job covers is not taken twice", 4000, 1000, Reclaim{}, []int64{4}},
		{"young jobs are spared", 1000, 1000, Reclaim{MinRuntime: Duration(30 * time.Minute)}, []int64{1}},
		{"whole jobs of the claimer only", 5000, 4000, Reclaim{}, []int64{4}},
		{"no more than its target", 99_000, 1000, Reclaim{}, []int64{3, 2, 4, 1, 5}},
		{"less than a job is asked for", 500, 1000, Reclaim{}, nil},
		{"nobody is old enough", 1000, 1000, Reclaim{MinRuntime: Duration(3 * time.Hour)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := NewPool(tree, "default")
			p.Hold(1, 20_000)
			p.SetWant(1, MaxAmount)
			p.SetWant(2, c.units)
			var got []int64
			for _, v := range p.Victims(20_000, Ask{Leaf: 2, Units: c.units, Job: c.each, Terms: c.terms}, jobs, noon) {
				got = append(got, v.ID)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("victims %v, want %v", got, c.want)
			}
		})
	}
}

// TestRoundingsReclaimNothing: a full pool that has turned over has no victims, whoever asks.
func TestRoundingsReclaimNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := NewPool(drawTree(t, kind{}), "default")
		c := Units(rapid.IntRange(1, 60).Draw(t, "capacity")) * 1000
		for _, leaf := range p.tree.Leaves() {
			p.SetWant(leaf, MaxAmount)
		}
		var jobs []int
		for p.Held(0) < c {
			leaf, _ := grant(p, c)
			jobs = append(jobs, leaf)
		}
		for _, leaf := range jobs { // every leaf turns over
			move(p, leaf, -1000)
			grant(p, c)
		}
		for _, leaf := range p.tree.Leaves() {
			if depth := p.tree.Nodes[leaf].Depth; depth > 1 {
				continue // further down a node may rightly be a job short
			}
			for _, by := range []string{"ratio", "rank"} {
				ask := Ask{Leaf: leaf, Units: MaxAmount, Job: 1000, Terms: Reclaim{By: by}}
				if v := p.Victims(c, ask, running(p), noon.Add(time.Hour)); len(v) > 0 {
					t.Fatalf("%q takes %v", p.tree.Nodes[leaf].Path, v)
				}
			}
		}
	})
}

// TestReclaimedJobsReclaimNothing: by ratio, whoever lost jobs does not ask for them again.
func TestReclaimedJobsReclaimNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := NewPool(drawTree(t, kind{owned: true, floors: true}), "default")
		leaves := p.tree.Leaves()
		for _, leaf := range leaves {
			p.Hold(leaf, Units(rapid.Int64Range(0, 12).Draw(t, "held"))*1000)
			p.SetWant(leaf, Units(rapid.Int64Range(0, 12).Draw(t, "want"))*1000)
		}
		c := p.Held(0)
		leaf := rapid.SampledFrom(leaves).Draw(t, "claimer")
		victims := p.Victims(c, Ask{Leaf: leaf, Units: p.Want(leaf), Job: 1000}, running(p), noon.Add(time.Hour))
		for _, v := range victims {
			move(p, v.Leaf, -v.Units)
			move(p, leaf, v.Units)
		}
		for _, v := range victims {
			again := p.Victims(c, Ask{Leaf: v.Leaf, Units: v.Units, Job: v.Units}, running(p), noon.Add(time.Hour))
			if len(again) > 0 {
				t.Fatalf("%q takes %v back", p.tree.Nodes[v.Leaf].Path, again)
			}
		}
	})
}
