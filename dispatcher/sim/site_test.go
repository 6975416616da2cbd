package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// Share is a leaf of the tree, or the group that the first two leaves are in where there are three.
type Share struct {
	Weight float64
	Max    int    // jobs at a queue; 0: no limit
	Owned  int    // at each
	Back   string // scope of its reclaim; empty: it waits
	ByRank bool   // of it
	Rank   int    // among victims, above that of the others
	Lend   int    // of what it owns, and one more; 0: all
	Borrow int    // of others, as well
}

// Site is a version of the site, as far as plans differ in it.
type Site struct {
	Slots  [2]int  // of the queues; 0: no limit
	Shares []Share // leaves, by their ids from 1; nil: one share without a limit
	Group  Share
	Units  int64 // of the resource; 0: there is none

	PerQueue bool          // each queue has so many units of its own
	Expires  time.Duration // when what their owner says is too old
}

// licence is the resource, and groupID the share that has others below it.
const (
	licence = "licence"
	groupID = shares.ShareID(100)
)

// Users are those whose jobs ask for units: where these are split they are so between them.
var users = [2]string{"u", "v"}

// shapeOf is the shape of jobs that ask for so many units, for a user.
func shapeOf(units int64, user int) int32 {
	if units == 0 {
		return 1
	}
	return 1 + int32(units) + 10*int32(user)
}

// unitsOf are the units that a job of a shape asks for.
func unitsOf(shape int32) int64 { return int64(shape-1) % 10 }

// mostUnits is what a job asks for at the most, and there is in every version.
const mostUnits = 2

// nodesOf are the names of a queue's nodes. Pilots of number 0 do not say where they are.
var nodesOf = [3]string{"", "n1", "n2"}

// devicesOf are those of every node.
var devicesOf = []string{"gpu:0", "gpu:1"}

// leaves is how many shares hold jobs.
func (s *Site) leaves() int { return max(1, len(s.Shares)) }

// groups says whether the first two leaves are in a group.
func (s *Site) groups() bool { return len(s.Shares) >= 3 }

func (s Share) spec(name string) shares.Spec {
	plan := shares.DefaultPlan()
	if s.Weight > 0 {
		plan.Weight = s.Weight
	}
	if s.Max > 0 {
		plan.Max = shares.Of(shares.Units(1000 * s.Max))
	}
	s.owns(&plan)
	return shares.Spec{Name: name, Plan: plan}
}

// tree is that of the shares.
func (s *Site) tree() *shares.Tree {
	ids := map[string]shares.ShareID{"g": groupID}
	list := []shares.Spec{}
	group := s.Group.spec("g")
	for i := range s.leaves() {
		name, spec := fmt.Sprintf("s%d", i+1), Share{}.spec("")
		if len(s.Shares) > 0 {
			spec = s.Shares[i].spec("")
		}
		if spec.Name = name; s.groups() && i < 2 {
			ids["g/"+name] = shares.ShareID(i + 1)
			group.Children = append(group.Children, spec)
			continue
		}
		ids[name] = shares.ShareID(i + 1)
		list = append(list, spec)
	}
	if s.groups() {
		list = append(list, group)
	}
	tree, err := shares.Build(list)
	if err != nil {
		panic(err)
	}
	tree.SetIDs(func(path string) shares.ShareID { return ids[path] })
	return tree
}

// version is the site as daemons have it.
func (s *Site) version(number int64, byUser bool) *shares.Version {
	v := &shares.Version{Number: number, Tree: s.tree()}
	for i, n := range s.Slots {
		q := shares.Queue{ID: queueID(i), Name: queueName(i), Pool: poolOf(i), State: shares.Online, CorePowerMilli: 1000, Cores: 8}
		if n > 0 {
			q.Slots = &n
		}
		v.Queues = append(v.Queues, q)
	}
	if s.Units > 0 {
		r := shares.Resource{Name: licence, Capacity: s.Units, Split: shares.Split{By: shares.SplitByUser}, MaxBypass: 5, MaxHold: time.Second,
			PerQueue: s.PerQueue, ExternalExpires: s.Expires}
		if !byUser { // nothing but the units bounds who gets them, and none is kept for anybody
			r.Exempt, r.MaxBypass = users[:], 1<<20
		}
		v.Resources = []shares.Resource{r}
	}
	return v
}

// template is that of a group's claims.
func (c *Claiming) template() shares.ClaimTemplate {
	t := shares.ClaimTemplate{Name: "group", Node: c.Node, MaxSharers: c.Sharers, Linger: c.Linger, Gang: c.Gang}
	if c.Late > 0 {
		t.Name = fmt.Sprintf("late %d", c.Late)
	}
	if c.Devices > 0 {
		t.Devices = map[string]int{"gpu": c.Devices}
	}
	if c.Units > 0 {
		t.Resources = map[string]int64{licence: c.Units}
	}
	return t
}

func queueName(queue int) string { return fmt.Sprintf("q%d", queue) }

// poolOf is the pool of a queue: each is alone in its own.
func poolOf(queue int) string { return fmt.Sprintf("p%d", queue) }

// versions are those that come into force, one after the other.
func (p *Plan) versions() []*shares.Version {
	all := []*shares.Version{p.Site.version(1, p.ByUser)}
	if p.Later != nil {
		all = append(all, p.Later.version(2, p.ByUser))
	}
	if p.Third != nil {
		all = append(all, p.Third.version(3, p.ByUser))
	}
	for _, later := range all[1:] {
		for i := range p.Deeds {
			if c := &p.Deeds[i].Claim; c.Late > 0 {
				later.ClaimTemplates = append(later.ClaimTemplates, c.template())
			}
		}
	}
	return all
}

// First is what every log of a plan begins with: its site and the shapes of its jobs.
func (p *Plan) first() []entry.Entry {
	all := []entry.Entry{entry.Adopted{Number: 1, Site: p.versions()[0]}, entry.Shaped{Shape: 1, Need: job.Requirements{Cores: 1}}}
	if p.Units == 0 {
		return all
	}
	for user, name := range users {
		for units := int64(1); units <= mostUnits; units++ {
			need := job.Requirements{Cores: 1, Resources: map[string]int64{licence: units}, SharingID: name}
			all = append(all, entry.Shaped{Shape: shapeOf(units, user), Need: need})
		}
	}
	return all
}

// enrich gives a plan shares, units, claims, moves and a second version of the site, each now and then: most plans have little of it.
func (p *Plan) enrich(r *rand.Rand) {
	tree, units, claims := r.IntN(3) == 0, r.IntN(4) == 0, r.IntN(4) == 0
	n := 1
	if tree {
		n = 2 + r.IntN(3)
		p.Site.drawShares(r, n)
	}
	if units {
		p.Units, p.ByUser = mostUnits+r.Int64N(3), r.IntN(3) == 0
	}
	p.Claims = claims
	for i := range p.Habits {
		if claims && r.IntN(6) > 0 {
			p.Habits[i].Node = 1 + r.IntN(2)
		}
	}
	for i := range p.Deeds {
		if d := &p.Deeds[i]; d.Verb == Enqueue {
			p.drawJobs(r, d)
		}
	}
	p.drawTrouble(r, n)
}

// drawTrouble draws what people do while jobs run.
func (p *Plan) drawTrouble(r *rand.Rand, n int) {
	tree, units, claims := len(p.Shares) > 0, p.Units > 0, p.Claims
	for range r.IntN(4) {
		if tree {
			p.Deeds = append(p.Deeds, Deed{Verb: Move, At: upTo(r, p.Span), Share: 1 + r.IntN(n), From: r.IntN(n+1) * r.IntN(2), Running: r.IntN(2) == 0, Host: -1})
		}
	}
	if claims && r.IntN(2) == 0 {
		p.Deeds = append(p.Deeds, Deed{Verb: ScaleAway, At: upTo(r, p.Span), Host: -1})
	}
	if units && r.IntN(3) == 0 {
		p.Deeds = append(p.Deeds, Deed{Verb: Cap, At: upTo(r, p.Span), Units: r.Int64N(3), Host: -1})
	}
	if (tree || units || claims) && r.IntN(3) == 0 {
		p.Later = &Site{}
		for i := range p.Later.Slots {
			p.Later.Slots[i] = r.IntN(4)
		}
		if tree {
			p.Later.drawShares(r, n)
		}
		if units {
			p.Later.Units = mostUnits + r.Int64N(3)
		}
		p.Deeds = append(p.Deeds, Deed{Verb: Adopt, At: upTo(r, p.Span), Host: -1})
		for i := range p.Deeds {
			if c := &p.Deeds[i].Claim; c.Group > 0 && r.IntN(4) == 0 {
				c.Late = i + 1
			}
		}
	}
	if claims && r.IntN(3) == 0 {
		p.drawGangs(r)
	}
	if claims && r.IntN(3) == 0 {
		p.drawOutside(r)
	}
}

// drawGangs has jobs of some claims start together, where limits let two of them.
func (p *Plan) drawGangs(r *rand.Rand) {
	p.each(func(s *Site) {
		s.Slots[1] = 0
		s.Shares = slices.Clone(s.Shares)
		for i := range s.Shares {
			s.Shares[i].Max += min(1, s.Shares[i].Max)
		}
		s.Group.Max += min(1, s.Group.Max)
	})
	for i := range p.Deeds {
		if d := &p.Deeds[i]; d.Claim.Group > 0 && r.IntN(3) > 0 {
			d.Claim.Gang, d.Claim.Group, d.Claim.Node, d.Claim.Sharers = true, 2, true, 0
			d.Units = min(d.Units, mostUnits/2-d.Claim.Units)
		}
	}
}

func (s *Site) drawShares(r *rand.Rand, n int) {
	draw := func() Share { return Share{Weight: float64(1 + r.IntN(4)), Max: (1 + r.IntN(3)) * (r.IntN(4) / 3)} }
	s.Shares, s.Group = nil, draw()
	for range n {
		s.Shares = append(s.Shares, draw())
	}
}

// drawJobs draws what the jobs of a deed are of, and ask for.
func (p *Plan) drawJobs(r *rand.Rand, d *Deed) {
	d.Share = 1 + r.IntN(p.leaves())
	if p.Units > 0 && r.IntN(3) > 0 {
		d.Units, d.User = 1+r.Int64N(mostUnits), r.IntN(2)
	}
	if !p.Claims || r.IntN(4) == 0 {
		return
	}
	d.Jobs += r.IntN(3)
	d.Claim = Claiming{Group: 1 + r.IntN(3), All: r.IntN(4) == 0, Node: r.IntN(2) == 0, Devices: r.IntN(2), Sharers: r.IntN(3)}
	d.Claim.Linger = []time.Duration{0, time.Second, 3 * time.Second}[r.IntN(3)]
	if p.Units > 0 && r.IntN(2) == 0 { // with those of the job itself they are mostUnits at the most
		d.Claim.Units, d.Units = 1, min(d.Units, mostUnits-1)
	}
}

// drawOutside has some jobs hold a claim that people make, delete and make again.
func (p *Plan) drawOutside(r *rand.Rand) {
	for i := range p.Deeds {
		if c := &p.Deeds[i].Claim; c.Group > 0 && !c.Gang {
			c.Outside = r.IntN(2) == 0
		}
	}
	for range r.IntN(5) {
		d := Deed{Verb: []Verb{Make, Delete}[r.IntN(2)], At: upTo(r, p.Span), Jobs: r.IntN(6), Host: -1}
		d.Claim.Sharers, d.Claim.Devices = r.IntN(3), r.IntN(2)
		p.Deeds = append(p.Deeds, d)
	}
}

// parts of a plan that can be left out, so that what fails is as simple as can be.
var parts = map[string]func(*Plan){
	"shares": func(p *Plan) {
		p.each(func(s *Site) { s.Shares, s.Group = nil, Share{} })
		p.eachDeed(func(d *Deed) { d.Share = min(d.Share, 1) })
	},
	"units": func(p *Plan) {
		p.each(func(s *Site) { s.Units = 0 })
		p.eachDeed(func(d *Deed) { d.Units, d.User, d.Claim.Units = 0, 0, 0 })
	},
	"claims": func(p *Plan) {
		p.Claims = false
		p.Habits = slices.Clone(p.Habits)
		for i := range p.Habits {
			p.Habits[i].Node = 0
		}
		p.eachDeed(func(d *Deed) { d.Claim = Claiming{} })
	},
	"later": func(p *Plan) {
		p.Later, p.Third = nil, nil
		p.eachDeed(func(d *Deed) { d.Claim.Late = 0 })
	},
	"pauses": func(p *Plan) {
		p.eachDeed(func(d *Deed) {
			if d.aside() {
				d.Verb = ""
			}
		})
	},
	"waits":  func(p *Plan) { p.Waits = false },
	"spares": func(p *Plan) { p.eachDeed(func(d *Deed) { d.Claim.Spare = 0 }) },
	"haste": func(p *Plan) {
		p.Habits = slices.Clone(p.Habits)
		for i := range p.Habits {
			p.Habits[i].Hasty = 0
		}
	},
}

// aside says whether a deed pauses or resumes a task.
func (d *Deed) aside() bool { return d.Verb == Hold || d.Verb == Resume }

// has says whether a plan has a part.
func (p *Plan) has(part string) bool {
	switch part {
	case "shares":
		return len(p.Shares) > 0
	case "units":
		return p.Units > 0
	case "claims":
		return p.Claims
	case "reports", "away", "queues":
		return p.hasOfUnits(part)
	case "owned":
		return p.owns()
	case "lending":
		return p.lends()
	case "pauses":
		return slices.ContainsFunc(p.Deeds, func(d Deed) bool { return d.aside() })
	case "waits":
		return p.Waits
	case "haste":
		return slices.ContainsFunc(p.Habits, func(h Habit) bool { return h.Hasty > 0 })
	case "spares":
		return slices.ContainsFunc(p.Deeds, func(d Deed) bool { return d.Claim.Spare > 0 })
	}
	return p.Later != nil
}

// rich says whether it has any.
func (p *Plan) rich() bool { return len(p.Shares) > 0 || p.Units > 0 || p.Claims || p.Later != nil }

// plain is the plan without all parts.
func (p Plan) plain() Plan {
	for _, part := range []string{"shares", "units", "claims", "later", "reports", "pauses", "waits"} {
		parts[part](&p)
	}
	return p
}

// each changes all versions of the site.
func (p *Plan) each(change func(*Site)) {
	if change(&p.Site); p.Later != nil {
		later := *p.Later
		change(&later)
		p.Later = &later
	}
	if p.Third != nil {
		third := *p.Third
		change(&third)
		p.Third = &third
	}
}

// eachDeed changes the deeds of a plan. Those that are of no use any more stay, so that deeds keep their numbers.
func (p *Plan) eachDeed(change func(*Deed)) {
	p.Deeds = slices.Clone(p.Deeds)
	for i := range p.Deeds {
		change(&p.Deeds[i])
	}
}
