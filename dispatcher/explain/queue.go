package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// Queues is the state of all queues, in file order.
func (m Moment) Queues() []QueueStanding {
	queues, places := m.View.Site.Queues, placesOf(m.View)
	out := make([]QueueStanding, len(queues))
	for i, q := range queues {
		w := m.View.Queue(q.ID)
		out[i] = QueueStanding{Queue: q, HeldCores: w.HeldCores, HeldJobs: w.HeldJobs}
		if m.Pulls != nil {
			out[i].Pilots, out[i].Waiting = m.Pulls.PullsAt(q.ID)
		}
		for _, t := range w.Targets {
			out[i].TargetSlots = append(out[i].TargetSlots, targetSlots(m.View.Site, t))
		}
		if h, ok := m.Holes[q.ID]; ok {
			out[i].BlackHole = &h
		}
		if a, ok := m.Wanted[q.ID]; ok {
			out[i].Wanted = &a
		}
	}
	ready := map[*place]int64{} // summed up first: there may be many kinds of jobs, and many queues
	for b := range m.View.Ready() {
		if b.Ready > 0 {
			ready[places.of(b)] += b.Ready
		}
	}
	for place, n := range ready {
		for _, i := range place.at {
			out[i].Ready += n
		}
	}
	for h := range m.View.Held() {
		for _, i := range places.queue(h.Queue).at {
			if queues[i].MaxIO > 0 {
				need, _ := m.View.Shape(h.Shape)
				out[i].HeldIO += h.Jobs * need.Resources[shares.IO]
			}
		}
	}
	return out
}

// targetSlots tells of target slots of a queue.
func targetSlots(site shares.Version, t machine.TargetView) TargetSlotsStanding {
	st := TargetSlotsStanding{Share: pathOf(site, t.Share), Class: t.Class, Slots: t.Slots, HeldCores: t.Held, Floor: t.Floor}
	if !t.Until.IsZero() {
		until := t.Until.UTC()
		st.Until = &until
	}
	return st
}

// floorWords says why a share comes first.
func floorWords(site shares.Version, t machine.TargetView) string {
	words := fmt.Sprintf("the queue's floor for %s is %d", whose(site, t), t.Slots)
	if !t.Until.IsZero() {
		words += " until " + t.Until.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("%s, of which %d are held", words, t.Held)
}

// whose says in words whose jobs target slots are for.
func whose(site shares.Version, t machine.TargetView) string {
	switch path := pathOf(site, t.Share); {
	case path == "" && t.Class == "":
		return "all jobs"
	case path == "":
		return t.Class + " jobs"
	case t.Class == "":
		return path
	default:
		return t.Class + " jobs of " + path
	}
}

// limitWords says which target slots have no room.
func limitWords(site shares.Version, t machine.TargetView, needed int64) string {
	var b strings.Builder
	b.WriteString("target slots of the queue")
	if path := pathOf(site, t.Share); path != "" {
		fmt.Fprintf(&b, " for %s", path)
	}
	if t.Class != "" {
		fmt.Fprintf(&b, ", %s jobs", t.Class)
	}
	fmt.Fprintf(&b, " are %d", t.Slots)
	if !t.Until.IsZero() {
		fmt.Fprintf(&b, " until %s", t.Until.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("%s: %d are held, it needs %d", b.String(), t.Held, needed)
}

// Counts is how many jobs are ready and leased. It does the same little for each kind of jobs however many queues there are; the
// names of queues are shared between counts and not to be changed.
func (m Moment) Counts() (list []Count) {
	places := placesOf(m.View)
	for b := range m.View.Ready() {
		if b.Ready > 0 {
			list = append(list, m.count(b.Share, b.Shape, "ready", b.Ready, places.of(b)))
		}
	}
	for h := range m.View.Held() {
		if h.Jobs > 0 && !charges(m.View, h.Shape) {
			list = append(list, m.count(h.Share, h.Shape, "leased", h.Jobs, places.queue(h.Queue)))
		}
	}
	return list
}

func (m Moment) count(share shares.ShareID, shape int32, state string, n int64, at *place) Count {
	need, _ := m.View.Shape(shape)
	return Count{Share: pathOf(m.View.Site, share), Class: job.Class(need), Label: need.Label, State: state, Queues: at.queues, Pools: at.pools, N: n}
}

// place is queues in file order, and their pools.
type place struct {
	at            []int // in the site's list
	queues, pools []string
}

var nowhere = &place{}

// places knows where jobs are and where they may be, each set of queues once.
type places struct {
	site    shares.Version
	byShare bool
	queues  map[shares.QueueID]*place
	lists   map[listed]*place
}

// listed is what says where jobs may run: the list of queues whose figures admit them and, where queues do not run all shares, whose they are.
type listed struct {
	list *bool // its first
	leaf int   // 0: of any leaf
}

// placesOf is for jobs of all shapes.
func placesOf(v machine.View) *places {
	p := &places{v.Site, false, map[shares.QueueID]*place{}, map[listed]*place{}}
	for i, q := range v.Site.Queues {
		p.queues[q.ID] = &place{[]int{i}, []string{q.Name}, []string{q.Pool}}
		p.byShare = p.byShare || len(q.AllowShares)+len(q.DenyShares) > 0
	}
	return p
}

// queue is one; nowhere when it is not there any more.
func (p *places) queue(id shares.QueueID) *place {
	if at := p.queues[id]; at != nil {
		return at
	}
	return nowhere
}

// of are the queues at which ready jobs may run.
func (p *places) of(b machine.ReadyView) *place {
	if b.Leaf < 0 || len(b.Runs) == 0 {
		return nowhere
	}
	key := listed{list: &b.Runs[0]}
	if p.byShare {
		key.leaf = b.Leaf
	}
	out := p.lists[key]
	if out != nil {
		return out
	}
	out = &place{}
	for i, q := range p.site.Queues {
		if !b.Runs[i] || p.byShare && !q.Runs(p.site.Tree.Nodes[b.Leaf].Path) {
			continue
		}
		out.at, out.queues = append(out.at, i), append(out.queues, q.Name)
		if !slices.Contains(out.pools, q.Pool) {
			out.pools = append(out.pools, q.Pool)
		}
	}
	p.lists[key] = out
	return out
}
