package resource

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/divvyhq/divvy/shares"
)

// lifeStep is one thing that happens, then a look at what there is. Jobs and claims are called by their names.
type lifeStep struct {
	Pull     []string // jobs, by one pilot
	At       string   // queue/node of that pilot, and of Node_lost
	Devices  []string // of that pilot
	Leaf     int      // of the jobs that it pulls
	Refused  ClaimReason
	End      []string // jobs whose lease ends
	Lost     []string // jobs whose lease runs out
	Again    bool     // and they go back to ready
	NodeLost bool     `yaml:"node_lost"`
	Scale    map[string]int
	Retry    []string
	Wait     time.Duration
	Removed  string         // a template of the site
	Set      []yamlTemplate // templates of the site

	Claims  map[string]string   // their state, and @queue/node if they are somewhere; of those with one name the last
	Drains  []string            // names of claims that drain now
	Charged map[string]int64    // by resource, of all payers
	Leaves  map[int]int64       // units by leaf, of all resources
	Binds   *int                // claims bound since the beginning
	Running *int                // jobs
	Ready   *int                // jobs
	Has     map[string][]string // devices of claims
}

func TestLifeCorpus(t *testing.T) {
	var cases []struct {
		ID        string
		Layout    yamlLayout
		Templates []yamlTemplate // of the site
		Outside   map[string]string
		Steps     []lifeStep
	}
	readClaimYAML(t, "testdata/claims_life.yml", &cases)
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			l := c.Layout.layout()
			if err := l.Validate(); err != nil {
				t.Fatal(err)
			}
			outside := map[string]Claim{}
			for name, at := range c.Outside {
				outside[name] = OutsideClaim(placeOf(at), nil, 0)
			}
			w := newWorld(l, yamlTemplates(c.Templates), outside)
			for i, s := range c.Steps {
				if err := s.happens(w); err != nil {
					t.Fatalf("step %d: %v", i+1, err)
				}
				if err := w.recount(); err != nil {
					t.Fatalf("step %d: %v", i+1, err)
				}
				if d := s.look(w); d != "" {
					t.Fatalf("step %d: %s", i+1, d)
				}
			}
		})
	}
}

func placeOf(at string) Place {
	queue, node, _ := strings.Cut(at, "/")
	return Place{queue, node}
}

func (w *world) named(name string) (*worldJob, error) {
	key, err := ParseJobKey(strings.TrimSuffix(name, "~"))
	if err != nil {
		return nil, err
	}
	for _, j := range slices.Backward(w.jobs) { // ~: the one that was scaled away
		if j.JobKey == key && j.leaving == strings.HasSuffix(name, "~") {
			return j, nil
		}
	}
	return nil, fmt.Errorf("no job %s", name)
}

func (s lifeStep) happens(w *world) error {
	each := func(names []string, do func(*worldJob) error) error {
		for _, name := range names {
			j, err := w.named(name)
			if err == nil {
				err = do(j)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	}
	err := each(s.Pull, func(j *worldJob) error {
		err := w.pull(j, Offer{placeOf(s.At), s.Devices}, Payer{Leaf: shares.ShareID(s.Leaf)})
		if s.Refused == "" {
			return err
		}
		if err == nil || err.Error() != string(s.Refused) {
			return fmt.Errorf("%v, want %s", err, s.Refused)
		}
		return nil
	})
	for verb, names := range map[ClaimVerb][]string{Ended: s.End, Lost: s.Lost} {
		if err == nil {
			err = each(names, func(j *worldJob) error { return w.end(j, verb, s.Again) })
		}
	}
	if err == nil && s.NodeLost {
		err = w.nodeLost(placeOf(s.At))
	}
	for _, what := range sortedKeys(s.Scale) {
		var to Layout
		if to, err = w.layout.Scaled(what, s.Scale[what]); err == nil {
			_, err = w.scale(to)
		}
		if err != nil {
			return err
		}
	}
	if err == nil {
		err = each(s.Retry, func(j *worldJob) error { _, err := w.retry(j); return err })
	}
	if err == nil {
		s.site(w)
		err = w.pass(s.Wait)
	}
	return err
}

// site is another version of the site, with the templates changed.
func (s lifeStep) site(w *world) {
	w.site = slices.DeleteFunc(slices.Clone(w.site), func(t shares.ClaimTemplate) bool { return t.Name == s.Removed })
	for _, t := range yamlTemplates(s.Set) {
		w.site = slices.DeleteFunc(w.site, func(o shares.ClaimTemplate) bool { return o.Name == t.Name })
		w.site = append(w.site, t)
	}
	if s.Removed == "" && s.Set == nil {
		return
	}
	for _, c := range w.claims {
		if t, ok := w.layout.Template(c.key.Template, w.site); ok {
			c.Claim, _ = c.Step(ClaimEvent{Verb: TemplateSet, Template: t})
		}
	}
}

// look says where what there is differs from what the step says.
func (s lifeStep) look(w *world) string {
	claims, has := map[string]string{}, map[string][]string{}
	var drains []string
	for _, c := range w.claims {
		name, at := c.key.Name(), string(c.State)
		if c.State == ClaimDraining {
			drains = append(drains, name)
		}
		if c.Place != (Place{}) {
			at += "@" + c.Place.Queue + "/" + c.Place.Node
		}
		if _, asked := s.Claims[name]; asked {
			claims[name] = at
		}
		if _, asked := s.Has[name]; asked {
			has[name] = c.Devices
		}
	}
	charged, leaves := map[string]int64{}, map[int]int64{}
	for who, units := range w.charges {
		for r, u := range units {
			charged[r] += u
			leaves[int(who.Leaf)] += u
		}
	}
	none := func(_ string, u int64) bool { return u == 0 }
	maps.DeleteFunc(charged, none)
	maps.DeleteFunc(leaves, func(_ int, u int64) bool { return u == 0 })
	empty := cmpopts.EquateEmpty()
	d := cmp.Diff(s.Claims, claims, empty) + cmp.Diff(s.Drains, drains, empty) + cmp.Diff(s.Has, has, empty)
	if s.Charged != nil {
		maps.DeleteFunc(s.Charged, none)
		d += cmp.Diff(s.Charged, charged, empty)
	}
	if s.Leaves != nil {
		d += cmp.Diff(s.Leaves, leaves, empty)
	}
	count := func(state string) (n int) {
		for _, j := range w.jobs {
			if j.state == state {
				n++
			}
		}
		return n
	}
	for what, ns := range map[string][2]*int{"binds": {s.Binds, &w.binds}, "running": {s.Running, ptr(count("running"))}, "ready": {s.Ready, ptr(count("ready"))}} {
		if ns[0] != nil && *ns[0] != *ns[1] {
			d += fmt.Sprintf("%s: %d, want %d\n", what, *ns[1], *ns[0])
		}
	}
	return d
}

func ptr(n int) *int { return &n }
