package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// Queues is the state of all queues, in file order.
func (m Moment) Queues() []QueueStanding {
	queues, places := m.View.Site.Queues, placesOf(m.View, true)
	out := make([]QueueStanding, len(queues))
	for i, q := range queues {
		w := m.View.Queue(q.ID)
		out[i] = QueueStanding{Queue: q, HeldCores: w.HeldCores, HeldJobs: w.HeldJobs, Pilots: len(m.Pilots[q.ID]), Waiting: m.Pulls[q.ID]}
		for _, t := range w.Targets {
			out[i].TargetSlots = append(out[i].TargetSlots, targetSlots(m.View.Site, t))
		}
		if h, ok := m.Holes[q.ID]; ok {
			out[i].BlackHole = &h
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
