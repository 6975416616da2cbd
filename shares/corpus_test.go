package shares

import (
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// corpusCase is one case of testdata/*.yml; a case inherits shares and capacity of its file. Amounts are in
// units, as numbers or fractions; "all" is endless demand.
type corpusCase struct {
	ID       string
	Shares   []corpusShare
	Pool     string
	Capacity figure
	Held     map[string]figure
	Want     map[string]figure
	Rest     figure            // want of the leaves that Want does not name
	Job      map[string]figure // what a job of the leaf charges; 1 if absent
	Slot     figure            // what a pull offers; 1 if absent
	Targets  map[string]figure // solved at R = capacity
	Whole    map[string]int64
	Figures  map[string]corpusFigures // once the first step is over
	Steps    []corpusStep
}

// corpusStep changes the state, then pulls, then looks.
type corpusStep struct {
	Capacity figure
	Want     map[string]figure
	End      map[string]figure // units whose jobs end
	Wait     Duration          // before all else, with what is held then
	Reclaim  *corpusReclaim    // and what it frees goes to the claimer
	Pull     int
	Only     []string // leaves with a job that the slot may run; all if absent
	Picks    []string
	Granted  *int
	Held     map[string]figure
}

// corpusReclaim is what a leaf asks back, in unit jobs.
type corpusReclaim struct {
	Leaf  string
	Units figure
	Scope string
	By    string
}

// corpusFigures are figures of a share; those that are absent are not looked at.
type corpusFigures struct{ Deserved, Own, Lent, Borrowed figure }

type corpusShare struct {
	Name     string
	Repeat   int // so many shares, numbered from 1
	Plan     Plan
	Children []corpusShare
}

func (s *corpusShare) UnmarshalYAML(n *yaml.Node) error {
	s.Plan = DefaultPlan()
	type rest struct {
		Name     string
		Repeat   int
		Children []corpusShare
		Plan     `yaml:",inline"`
	}
	r := rest{Plan: s.Plan}
	err := n.Decode(&r)
	s.Name, s.Repeat, s.Children, s.Plan = r.Name, r.Repeat, r.Children, r.Plan
	return err
}

func specs(from []corpusShare) (out []Spec) {
	for _, s := range from {
		one := Spec{Name: s.Name, Plan: s.Plan, Children: specs(s.Children)}
		if s.Repeat == 0 {
			out = append(out, one)
		}
		for i := range s.Repeat {
			one.Name = s.Name + strconv.Itoa(i+1)
			out = append(out, one)
		}
	}
	return out
}

type figure string

func (f figure) thousandths(t *testing.T) float64 {
	t.Helper()
	if f == "all" {
		return float64(MaxAmount)
	}
	r, ok := new(big.Rat).SetString(string(f))
	if !ok {
		t.Fatalf("%q is no figure", f)
	}
	v, _ := r.Mul(r, big.NewRat(1000, 1)).Float64()
	return v
}

func (f figure) units(t *testing.T) Units { return Units(f.thousandths(t)) }

func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	for _, file := range files {
		for _, c := range readCorpus(t, file) {
			t.Run(filepath.Base(file)+"/"+c.ID, func(t *testing.T) { c.run(t) })
		}
	}
}

func readCorpus(t *testing.T, file string) []corpusCase {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var doc struct {
		Shares   []corpusShare
		Capacity figure
		Cases    []corpusCase
	}
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	if err := d.Decode(&doc); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for i := range doc.Cases {
		c := &doc.Cases[i]
		if c.Shares == nil {
			c.Shares = doc.Shares
		}
		if c.Capacity == "" {
			c.Capacity = doc.Capacity
		}
		if c.Pool == "" {
			c.Pool = "default"
		}
	}
	return doc.Cases
}

func (c *corpusCase) run(t *testing.T) {
	tree, err := Build(specs(c.Shares))
	if err != nil {
		t.Fatal(err)
	}
	p := NewPool(tree, c.Pool)
	capacity := c.Capacity.units(t)
	p.SetCapacity(capacity)
	for _, leaf := range tree.Leaves() {
		if c.Rest != "" {
			p.SetWant(leaf, c.Rest.units(t))
		}
	}
	c.each(t, p, c.Want, func(leaf int, u Units) { p.SetWant(leaf, u) })
	c.each(t, p, c.Held, func(leaf int, u Units) { p.Hold(leaf, u) })
	c.checkTargets(t, p, capacity)
	for k, s := range c.Steps {
		if s.Capacity != "" {
			capacity = s.Capacity.units(t)
			p.SetCapacity(capacity)
		}
		c.step(t, k, s, p, capacity)
		if k == 0 {
			c.checkFigures(t, p, capacity)
		}
	}
}

func (c *corpusCase) checkFigures(t *testing.T, p *Pool, capacity Units) {
	all := p.Figures(capacity)
	for path, want := range c.Figures {
		i, ok := p.tree.ByPath(path)
		if !ok {
			t.Fatalf("no share %q", path)
		}
		got := all[i]
		for _, f := range []struct {
			name string
			want figure
			got  float64
		}{{"deserved", want.Deserved, got.Deserved}, {"own", want.Own, float64(got.Own)}, {"lent", want.Lent, got.Lent},
			{"borrowed", want.Borrowed, got.Borrowed}} {
			if f.want != "" && (f.got-f.want.thousandths(t) > Tolerance || f.want.thousandths(t)-f.got > Tolerance) {
				t.Errorf("%s of %q is %v, want %v", f.name, path, f.got/1000, f.want)
			}
		}
	}
}

func (c *corpusCase) each(t *testing.T, p *Pool, figures map[string]figure, do func(node int, u Units)) {
	t.Helper()
	for path, f := range figures {
		i, ok := p.tree.ByPath(path)
		if !ok {
			t.Fatalf("no share %q", path)
		}
		do(i, f.units(t))
	}
}

func (c *corpusCase) checkTargets(t *testing.T, p *Pool, capacity Units) {
	targets, whole := p.Targets(capacity), p.Slots(capacity)
	for path, f := range c.Targets {
		i, ok := p.tree.ByPath(path)
		if !ok {
			t.Fatalf("no share %q", path)
		}
		if d := targets[i] - f.thousandths(t); d > Tolerance || d < -Tolerance {
			t.Errorf("target of %q is %v, want %v", path, targets[i]/1000, f)
		}
	}
	for path, want := range c.Whole {
		if i, ok := p.tree.ByPath(path); !ok || whole[i] != want {
			t.Errorf("whole target of %q is %v, want %v", path, whole[i], want)
		}
	}
}

func (c *corpusCase) step(t *testing.T, k int, s corpusStep, p *Pool, capacity Units) {
	if s.Wait > 0 {
		p.Remember(capacity, time.Duration(s.Wait))
	}
	c.each(t, p, s.Want, func(leaf int, u Units) { p.SetWant(leaf, u) })
	c.each(t, p, s.End, func(leaf int, u Units) { p.Hold(leaf, -u) })
	if s.Reclaim != nil {
		c.reclaim(t, s.Reclaim, p, capacity)
	}
	var picks []string
	for range s.Pull {
		if leaf, ok := c.pull(t, s, p, capacity); ok {
			picks = append(picks, p.tree.Nodes[leaf].Path)
		}
	}
	if s.Granted != nil && len(picks) != *s.Granted {
		t.Errorf("step %d: %d granted, want %d", k+1, len(picks), *s.Granted)
	}
	for i, want := range s.Picks {
		if i >= len(picks) || picks[i] != want {
			t.Fatalf("step %d: picked %v, want %v", k+1, picks, s.Picks)
		}
	}
	c.each(t, p, s.Held, func(node int, u Units) {
		if p.Held(node) != u {
			t.Errorf("step %d: %s holds %v, want %v", k+1, p.tree.Nodes[node].Path, p.Held(node), u)
		}
	})
}

func (c *corpusCase) reclaim(t *testing.T, r *corpusReclaim, p *Pool, capacity Units) {
	leaf, ok := p.tree.ByPath(r.Leaf)
	if !ok {
		t.Fatalf("no share %q", r.Leaf)
	}
	ask := Ask{Leaf: leaf, Units: r.Units.units(t), Job: 1000, Terms: Reclaim{Scope: r.Scope, By: r.By}}
	for _, v := range p.Victims(capacity, ask, running(p), noon.Add(time.Hour)) {
		move(p, v.Leaf, -v.Units)
		move(p, leaf, v.Units)
	}
}

func (c *corpusCase) pull(t *testing.T, s corpusStep, p *Pool, capacity Units) (leaf int, ok bool) {
	if p.Held(0) >= capacity {
		return 0, false
	}
	offered := Units(1000)
	if c.Slot != "" {
		offered = c.Slot.units(t)
	}
	var cands []Candidate
	for _, leaf := range p.tree.Leaves() {
		n := p.tree.Nodes[leaf]
		job := Units(1000)
		if f, ok := c.Job[n.Path]; ok {
			job = f.units(t)
		}
		may := s.Only == nil
		for _, path := range s.Only {
			may = may || path == n.Path
		}
		_, admitted := p.Admits(leaf, job)
		if may && admitted && job <= min(offered, capacity-p.Held(0)) && p.Want(leaf) >= job {
			cands = append(cands, Candidate{leaf, job})
		}
	}
	i, ok := pick(p, Round(capacity, p.Held(0), offered), cands)
	if !ok {
		return 0, false
	}
	move(p, cands[i].Leaf, cands[i].Units)
	p.Granted(cands[i].Leaf)
	return cands[i].Leaf, true
}
