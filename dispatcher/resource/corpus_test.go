package resource

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/divvyhq/divvy/shares"
)

// corpusCase is one case of testdata/allowances/*.yml. It is about the one resource or about several resources, and about
// shapes: what the jobs of one ID need. A shape that is not listed is named after its ID, whose jobs need one unit.
type corpusCase struct {
	ID         string
	Resource   *corpusResource
	Resources  map[string]corpusResource
	Shapes     map[string]corpusShape
	Want       map[string]count // ready jobs by shape
	Held       map[string]int64 // jobs by shape
	Allowances map[string]int64 // of the one resource, at first
	Steps      []corpusStep
}

type corpusResource struct {
	Capacity  int64
	Weights   map[string]float64
	Tree      []Node
	MaxBypass int           `yaml:"max_bypass"`
	MaxHold   time.Duration `yaml:"max_hold"`
	Exempt    []string
}

type corpusShape struct {
	ID    string
	Needs map[string]int64
}

// corpusStep changes the state, then pulls, then looks. What is absent is not changed, or not looked at.
type corpusStep struct {
	Capacity   *int64
	External   *corpusReport
	NoReport   bool `yaml:"no_report"`
	Wait       time.Duration
	Want       map[string]count
	End        map[string]int64 // jobs by shape
	Due        map[string]int64 // allowances before any pull
	Pull       int              // pulls of slots that take one job each
	Order      []string         // shapes that such a slot may run, best first, as the share order has them; absent: all, by name
	Turns      int              // pulls, each behind the end of the job that has run longest
	Picks      []string
	Granted    *int
	Held       map[string]int64
	Allowances map[string]int64
	Refused    map[string]Rule     // by shape: what Explain says
	KeptFor    map[string][]string `yaml:"kept_for"`
}

type corpusReport struct{ Total, Used, Settled int64 }

// count is a number of jobs; all is more than there are units.
type count int64

func (c *count) UnmarshalYAML(n *yaml.Node) error {
	if n.Value == "all" {
		*c = 1_000_000
		return nil
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	*c = count(v)
	return err
}

func TestAllowances(t *testing.T) {
	files, err := filepath.Glob("testdata/allowances/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	for _, file := range files {
		for _, c := range readCorpus(t, file) {
			t.Run(filepath.Base(file)+"/"+c.ID, func(t *testing.T) { newRun(t, c).all() })
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
	var doc struct{ Cases []corpusCase }
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	if err := d.Decode(&doc); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return doc.Cases
}

func (c corpusResource) spec(t *testing.T, name string) Spec {
	t.Helper()
	s := shares.DefaultResource()
	s.Name, s.Capacity, s.Exempt = name, c.Capacity, c.Exempt
	s.Split.Weights, s.Split.Tree = c.Weights, c.Tree
	if c.MaxBypass != 0 {
		s.MaxBypass = c.MaxBypass
	}
	if c.MaxHold != 0 {
		s.MaxHold = c.MaxHold
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

// run plays a case.
type run struct {
	*testing.T
	corpusCase
	now     time.Time
	pools   map[string]*Pool
	bundles map[string]*Bundle
	ready   map[string]int64
	running []string // shapes of the jobs that run, the eldest first
}

func newRun(t *testing.T, c corpusCase) *run {
	r := &run{T: t, corpusCase: c, now: time.Unix(1_800_000_000, 0), pools: map[string]*Pool{}, bundles: map[string]*Bundle{}, ready: map[string]int64{}}
	if c.Resource != nil {
		r.pools[""] = NewPool(c.Resource.spec(t, "it"))
	}
	for name, of := range c.Resources {
		r.pools[name] = NewPool(of.spec(t, name))
	}
	for _, of := range []map[string]count{c.Want} {
		for _, shape := range slices.Sorted(maps.Keys(of)) {
			r.want(shape, int64(of[shape]))
		}
	}
	for _, shape := range slices.Sorted(maps.Keys(c.Held)) {
		for range c.Held[shape] {
			r.start(shape)
		}
	}
	return r
}

func (r *run) shape(name string) corpusShape {
	s, ok := r.Shapes[name]
	if !ok {
		s = corpusShape{ID: name, Needs: map[string]int64{"": 1}}
	}
	if s.ID == "" {
		s.ID = name
	}
	return s
}

func (r *run) bundle(name string) *Bundle {
	b, ok := r.bundles[name]
	if !ok {
		s := r.shape(name)
		var asks []Ask
		for _, res := range slices.Sorted(maps.Keys(s.Needs)) {
			asks = append(asks, Ask{Pool: r.pools[res], Units: s.Needs[res]})
		}
		b = NewBundle(s.ID, asks...)
		r.bundles[name] = b
	}
	return b
}

func (r *run) want(name string, jobs int64) {
	r.ready[name] = jobs
	r.bundle(name).Want(jobs)
}

func (r *run) hold(name string, jobs int64) {
	for _, a := range r.bundle(name).asks {
		a.Pool.Hold(r.shape(name).ID, jobs*a.Units)
	}
}

func (r *run) start(name string) {
	r.running = append(r.running, name)
	r.hold(name, 1)
}

func (r *run) end(name string) {
	i := slices.Index(r.running, name)
	if i < 0 {
		r.Fatalf("no job of %s runs", name)
	}
	r.running = slices.Delete(r.running, i, i+1)
	r.hold(name, -1)
}

// pull gives a slot the first job of the order that it may have.
func (r *run) pull(order []string) (name string, ok bool) {
	if order == nil {
		order = slices.Sorted(maps.Keys(r.bundles))
	}
	for _, name := range order {
		if r.ready[name] == 0 {
			continue
		}
		b := r.bundle(name)
		if ok, _ := b.Admits(r.now); !ok {
			continue
		}
		r.want(name, r.ready[name]-1)
		r.start(name)
		b.Granted()
		return name, true
	}
	return "", false
}

func (r *run) all() {
	r.checkAllowances(-1, r.Allowances)
	for k, s := range r.Steps {
		r.change(s)
		r.checkAllowances(k, s.Due)
		var picks []string
		take := func() {
			if name, ok := r.pull(s.Order); ok {
				picks = append(picks, name)
			}
		}
		for range s.Pull {
			take()
		}
		for range s.Turns {
			r.end(r.running[0])
			take()
		}
		r.look(k, s, picks)
	}
}

func (r *run) change(s corpusStep) {
	r.now = r.now.Add(s.Wait)
	if s.Capacity != nil {
		r.pools[""].SetCapacity(*s.Capacity)
	}
	if e := s.External; e != nil {
		r.pools[""].SetExternal(e.Total, e.Used, e.Settled)
	}
	if s.NoReport {
		r.pools[""].ClearExternal()
	}
	for _, name := range slices.Sorted(maps.Keys(s.Want)) {
		r.want(name, int64(s.Want[name]))
	}
	for name, n := range s.End {
		for range n {
			r.end(name)
		}
	}
}

func (r *run) look(k int, s corpusStep, picks []string) {
	if s.Granted != nil && len(picks) != *s.Granted {
		r.Errorf("step %d: %d granted, want %d", k+1, len(picks), *s.Granted)
	}
	if s.Picks != nil && !slices.Equal(picks, s.Picks) {
		r.Errorf("step %d: picked %v, want %v", k+1, picks, s.Picks)
	}
	for name, want := range s.Held {
		got := int64(0)
		for _, other := range r.running {
			if other == name {
				got++
			}
		}
		if got != want {
			r.Errorf("step %d: %s runs %d, want %d", k+1, name, got, want)
		}
	}
	r.checkAllowances(k, s.Allowances)
	for name, rule := range s.Refused {
		if ok, why := r.bundle(name).Explain(r.now); ok || why.Rule != rule {
			r.Errorf("step %d: %s is refused by %+v, want %s", k+1, name, why, rule)
		}
	}
	for name, want := range s.KeptFor {
		if _, why := r.bundle(name).Explain(r.now); !slices.Equal(why.KeptFor, want) {
			r.Errorf("step %d: %s is refused for %v, want %v", k+1, name, why.KeptFor, want)
		}
	}
}

func (r *run) checkAllowances(k int, want map[string]int64) {
	got := map[string]int64{}
	for _, p := range r.pools {
		for _, a := range p.Allowances() {
			got[a.ID] = a.Allowance
		}
	}
	for id, n := range want {
		if got[id] != n {
			r.Errorf("step %d: %s may hold %d, want %d (%v)", k+1, id, got[id], n, got)
		}
	}
}
