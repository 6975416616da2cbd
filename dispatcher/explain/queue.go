package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// Queues is the state of all queues, in file order.
func (m Moment) Queues() []QueueStanding {
	queues := m.View.Site.Queues
	out, at := make([]QueueStanding, len(queues)), map[shares.QueueID]int{}
	for i, q := range queues {
		w := m.View.Queue(q.ID)
		out[i] = QueueStanding{Queue: q, HeldCores: w.HeldCores, HeldJobs: w.HeldJobs, Pilots: len(m.Pilots[q.ID]), Waiting: m.Pulls[q.ID]}
		for _, t := range w.Targets {
			out[i].TargetSlots = append(out[i].TargetSlots, targetSlots(m.View.Site, t))
		}
		if h, ok := m.Holes[q.ID]; ok {
			out[i].BlackHole = &h
		}
		at[q.ID] = i
	}
	for key, at := range readyAt(m.View) {
		for i := range queues {
			if at.runs[i] && (key.leaf == 0 || queues[i].Runs(m.View.Site.Tree.Nodes[key.leaf].Path)) {
				out[i].Ready += at.n
			}
		}
	}
	for h := range m.View.Held() {
		if i, ok := at[h.Queue]; ok && queues[i].MaxIO > 0 {
			need, _ := m.View.Shape(h.Shape)
			out[i].HeldIO += h.Jobs * need.Resources[shares.IO]
		}
	}
	return out
}

// placed is what says where jobs may run: the list of queues whose figures admit them and, where queues do not run all shares, whose
// they are.
type placed struct {
	list *bool // its first
	leaf int   // 0: whoever's they are
}

// place is that of ready jobs; some says that a queue does not run all shares.
func place(b machine.ReadyView, some bool) (p placed) {
	p.list = &b.Runs[0]
	if some {
		p.leaf = b.Leaf
	}
	return p
}

// readyAt counts ready jobs by where they may run.
func readyAt(v machine.View) map[placed]*placeCount {
	counts, some := map[placed]*placeCount{}, someOnly(v.Site)
	for b := range v.Ready() {
		if b.Leaf < 0 || b.Ready == 0 || len(b.Runs) == 0 {
			continue
		}
		key := place(b, some)
		if counts[key] == nil {
			counts[key] = &placeCount{runs: b.Runs}
		}
		counts[key].n += b.Ready
	}
	return counts
}

type placeCount struct {
	runs []bool
	n    int64
}

// someOnly says whether a queue does not run all shares.
func someOnly(site shares.Version) bool {
	return slices.ContainsFunc(site.Queues, func(q shares.Queue) bool { return len(q.AllowShares)+len(q.DenyShares) > 0 })
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
