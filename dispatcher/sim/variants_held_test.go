package sim

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/running"
	"github.com/divvyhq/divvy/shares"
)

// heldVariants break what is promised of shares, units, claims, moves and versions of the site. Each is to be found by the check that is for it.
var heldVariants = []variant{
	{"weights-ignored", "", adopted(func(v *shares.Version) {
		plans(v, func(p *shares.Plan) { p.Weight = 1 })
	})},
	{"max-ignored", "", adopted(func(v *shares.Version) {
		plans(v, func(p *shares.Plan) { p.Max = shares.Amount{} })
	})},
	{"version-ignored", "", rewritten(func(e entry.Entry) entry.Entry {
		if a, ok := e.(entry.Adopted); ok && a.Number > 1 {
			return nil
		}
		return e
	})},
	{"units-of-each-queue", "", adopted(func(v *shares.Version) {
		v.Resources = slices.Clone(v.Resources)
		for i := range v.Resources {
			v.Resources[i].PerQueue = true
		}
	})},
	{"start-forgets-units", "", forgetUnits},
	{"units-of-claims-are-free", "", claimed(func(t *shares.ClaimTemplate) { t.Resources = nil })},
	{"claim-on-two-nodes", "", claimed(func(t *shares.ClaimTemplate) { t.Node = false })},
	{"claim-of-too-many", "", claimed(func(t *shares.ClaimTemplate) { t.MaxSharers = 0 })},
	{"half-a-gang", "", claimed(func(t *shares.ClaimTemplate) { t.Gang = false })},
	{"template-that-is-not-there", "", rewritten(func(e entry.Entry) entry.Entry {
		c, ok := e.(entry.Claimed)
		if ok {
			c.Missing = false
			return c
		}
		return e
	})},
	{"capacity-not-lowered", "", rewritten(func(e entry.Entry) entry.Entry {
		if _, ok := e.(entry.Capped); ok {
			return nil
		}
		return e
	})},
	{"claim-of-people-is-anywhere", "", rewritten(func(e entry.Entry) entry.Entry {
		c, ok := e.(entry.Claimed)
		if ok && c.Outside() {
			c.Node, c.Devices = "", nil
			return c
		}
		return e
	})},
	{"deleted-claim-is-held", "", rewritten(func(e entry.Entry) entry.Entry {
		if u, ok := e.(entry.Unclaimed); ok && u.Claim == disk {
			return nil
		}
		return e
	})},
	{"start-without-claims", "", startWithout(func(c *machine.Checkpoint) { c.Claims = nil })},
	{"start-without-homes", "", startWithout(func(c *machine.Checkpoint) { c.Leases = running.Saved{} })},
	{"claim-lingers-on", "", claimed(func(t *shares.ClaimTemplate) { t.Linger = forever })},
	{"devices-not-taken", "", machines(func(m lease.Machine) lease.Machine {
		return &generous{Machine: m, needs: map[int64]int{}, of: map[int64][]int64{}, bound: map[int64]bool{}}
	})},
	{"claim-outlives-its-group", "", rewritten(func(e entry.Entry) entry.Entry {
		if c, ok := e.(entry.Claimed); ok {
			c.Jobs++
			return c
		}
		return e
	})},
	{"claim-not-joined", "", rewritten(func(e entry.Entry) entry.Entry {
		if j, ok := e.(entry.Joined); ok && len(j.Claims) > 1 {
			j.Claims = j.Claims[:1]
			return j
		}
		return e
	})},
	{"move-of-all", "", rewritten(func(e entry.Entry) entry.Entry {
		if m, ok := e.(entry.Moved); ok {
			m.From = 0
			return m
		}
		return e
	})},
	{"move-of-none", "", rewritten(func(e entry.Entry) entry.Entry {
		if m, ok := e.(entry.Moved); ok && m.From == 0 {
			return nil
		}
		return e
	})},
	{"move-without-leases", "", rewritten(func(e entry.Entry) entry.Entry {
		if m, ok := e.(entry.Moved); ok {
			m.Running = false
			return m
		}
		return e
	})},
}

// heldWanted is what must be said of them.
var heldWanted = map[string]string{
	"weights-ignored": "short of its target", "max-ignored": "holds as much as it may", "version-ignored": "",
	"units-of-each-queue": "units, and", "start-forgets-units": "units, and", "units-of-claims-are-free": "units, and",
	"half-a-gang": "with the others or not at all", "template-that-is-not-there": "no template", "capacity-not-lowered": "usable units",
	"claim-of-people-is-anywhere": "claim 1073741824", "deleted-claim-is-held": "claim 1073741824", "start-without-claims": "another state", "start-without-homes": "another state",
	"claim-on-two-nodes": "others hold it at", "claim-of-too-many": "hold of", "claim-lingers-on": "the machine has claim",
	"devices-not-taken": "which claim", "claim-outlives-its-group": "the machine has claim", "claim-not-joined": "claim",
	"move-of-all": "is granted at place", "move-of-none": "is granted at place", "move-without-leases": "leases of share",
}

// rewritten has all machines apply another entry than the log has; nil: none.
func rewritten(change func(e entry.Entry) entry.Entry) func(*Wiring) {
	return machines(func(m lease.Machine) lease.Machine {
		return &applying{Machine: m, apply: func(m lease.Machine, e entry.Entry) error {
			if e = change(e); e == nil {
				return nil
			}
			return m.Apply(e)
		}}
	})
}

// adopted changes the site that all machines have.
func adopted(change func(v *shares.Version)) func(*Wiring) {
	return rewritten(func(e entry.Entry) entry.Entry {
		a, ok := e.(entry.Adopted)
		if !ok {
			return e
		}
		v := *a.Site
		change(&v)
		a.Site = &v
		return a
	})
}

// plans changes the plans of all shares.
func plans(v *shares.Version, change func(p *shares.Plan)) {
	tree := *v.Tree
	tree.Nodes = slices.Clone(tree.Nodes)
	for i := range tree.Nodes {
		change(&tree.Nodes[i].Plan)
	}
	v.Tree = &tree
}

// claimed changes the templates of all claims.
func claimed(change func(t *shares.ClaimTemplate)) func(*Wiring) {
	return rewritten(func(e entry.Entry) entry.Entry {
		c, ok := e.(entry.Claimed)
		if ok {
			change(&c.Template)
			return c
		}
		return e
	})
}

// startWithout has daemons start with tables that lack something.
func startWithout(lack func(c *machine.Checkpoint)) func(*Wiring) {
	return func(w *Wiring) {
		w.Reload = func(t *Tables, _ int) lease.Reloaded {
			r := t.Machine(t.Folded)
			if m := r.Machine.(*machine.Machine); r.Err == nil && m.Site().Number > 0 {
				if made, err := t.restored(m, lack); err == nil {
					r.Machine = made
				}
			}
			return r
		}
	}
}

// forgetUnits has a daemon that starts not count the units of the jobs that were there before. That its state is another one is not looked at.
func forgetUnits(w *Wiring) {
	inner := w.Machine
	w.Machine = func(slots [2]int) lease.Machine { return &forgetful{Machine: inner(slots), shapes: map[int64]int32{}} }
	w.Reload = func(t *Tables, _ int) lease.Reloaded {
		started := t.new
		defer func() { t.new = started }()
		t.new = func() lease.Machine {
			m := started()
			m.(*forgetful).starts = true
			return m
		}
		r := t.Machine(t.Folded)
		r.Machine.(*forgetful).starts = false
		return r
	}
}

// forgetful takes jobs for such as ask for no units while it starts.
type forgetful struct {
	lease.Machine
	starts bool
	shapes map[int64]int32 // of the jobs from then
}

func (f *forgetful) Digest() [32]byte { return [32]byte{} }

func (f *forgetful) Apply(e entry.Entry) error {
	switch of := e.(type) {
	case entry.Enqueued:
		if f.starts {
			for id := of.Low; id <= of.High; id++ {
				f.shapes[id] = of.Shape
			}
			of.Shape = 1
		}
		e = of
	case entry.Granted:
		if f.shapes[of.Job] > 0 {
			of.Shape = 1
		}
		e = of
	}
	return f.Machine.Apply(e)
}

func (f *forgetful) Decide(p machine.Pull) machine.Decision {
	d := f.Machine.Decide(p)
	for i, e := range d.Entries {
		if g, ok := e.(entry.Granted); ok && f.shapes[g.Job] > 0 {
			g.Shape = f.shapes[g.Job]
			d.Entries[i] = g
		}
	}
	return d
}

// generous gives devices of a node to each claim that needs some, whoever has them.
type generous struct {
	lease.Machine
	needs map[int64]int     // devices of each claim
	of    map[int64][]int64 // claims of each job
	bound map[int64]bool    // claims that have devices
}

func (g *generous) Apply(e entry.Entry) error {
	switch of := e.(type) {
	case entry.Claimed:
		if g.needs[of.Claim] = of.Template.Devices["gpu"]; g.needs[of.Claim] > 0 {
			of.Template.Node, of.Template.Devices = true, nil
		}
		e = of
	case entry.Joined:
		for id := of.Low; id <= of.High; id++ {
			g.of[id] = of.Claims
		}
	case entry.Took:
		return nil
	case entry.Granted:
		g.take(of.Job)
	}
	return g.Machine.Apply(e)
}

// take returns how many devices the claims of a job take that have none.
func (g *generous) take(job int64) (n int) {
	for _, c := range g.of[job] {
		if !g.bound[c] {
			n += g.needs[c]
			g.bound[c] = true
		}
	}
	return n
}

func (g *generous) Decide(p machine.Pull) machine.Decision {
	d := g.Machine.Decide(p)
	var entries []entry.Entry
	for _, e := range d.Entries {
		if of, ok := e.(entry.Granted); ok {
			if n := g.take(of.Job); n > 0 && n <= len(p.Devices) {
				entries = append(entries, entry.Took{Job: of.Job, Devices: p.Devices[:n]})
			}
		}
		entries = append(entries, e)
	}
	d.Entries = entries
	return d
}
