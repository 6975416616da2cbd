package resource

import (
	"fmt"
	"time"
)

// DefaultGangHold is how long pilots of a node are held for a gang that nothing else is said of.
const DefaultGangHold = time.Minute

// Hold is the time for which the slots of one node are held for a gang, until all of it fits. The zero Hold is none yet.
type Hold struct {
	Since time.Time
	Most  time.Duration // DefaultGangHold unless the site says otherwise
}

// For is the hold with another bound.
func (h Hold) For(most time.Duration) Hold {
	h.Most = most
	return h
}

// Until is when it ends at the latest: from then on anybody may have the slots.
func (h Hold) Until() time.Time { return h.Since.Add(h.Most) }

// Again is when the same gang may hold slots again: as long after the end as it held them, so that others get them for
// half of the time at least.
func (h Hold) Again() time.Time { return h.Since.Add(2 * h.Most) }

// May says whether slots may be held at this time: the hold is on, or a new one may begin.
func (h Hold) May(now time.Time) bool {
	return h.Since.IsZero() || now.Before(h.Until()) || !now.Before(h.Again())
}

// At is the hold once slots are held at this time: the one that is on, or a new one. Ask May before.
func (h Hold) At(now time.Time) Hold {
	if h.Since.IsZero() || !now.Before(h.Until()) {
		h.Since = now
	}
	return h
}

// GangVerdict says what a gang does with the slots of a node.
type GangVerdict string

// Verdicts.
const (
	GangStarts GangVerdict = "start" // all fit now: all get leases, in one transaction
	GangHolds  GangVerdict = "hold"  // all would fit if the busy slots of the node were free: those that offer wait, up to a bound
	GangWaits  GangVerdict = "wait"  // not here, or not now: the slots are for others. gang_waiting
)

// Gathering is what a gang does at a node, and why.
type Gathering struct {
	Verdict GangVerdict
	At      []int  // with GangStarts: the room of offered for each need
	Hold    Hold   // the hold from now on
	Why     string // for people; "" with GangStarts
}

// Gather decides for a gang at one node, where offered are the slots that ask for jobs now, and whole are all slots of the
// node as they were if nothing ran in them, offered ones too. Whether the claim admits the gang there is for package gate to say.
func Gather(needs []Need, offered, whole []Room, hold Hold, now time.Time) Gathering {
	if len(needs) == 0 {
		return Gathering{Verdict: GangWaits, Hold: hold, Why: "the group has no job left"}
	}
	fit := Fit(needs, offered)
	if fit.OK() {
		return Gathering{Verdict: GangStarts, At: fit.At, Hold: hold}
	}
	g := Gathering{Verdict: GangWaits, Hold: hold}
	switch ever := Fit(needs, whole); {
	case !ever.OK():
		g.Why = ever.why(needs, "the slots of the node")
	case !hold.May(now):
		g.Why = fmt.Sprintf("the node was held for %v in vain, others have it until %s; %s", hold.Most, hold.Again().Format(time.TimeOnly), fit.why(needs, "its free slots"))
	default:
		g.Verdict, g.Hold = GangHolds, hold.At(now)
		g.Why = fmt.Sprintf("slots of the node are held until %s: %s", g.Hold.Until().Format(time.TimeOnly), fit.why(needs, "those that are free"))
	}
	return g
}

// why says in words which need does not fit into which slots.
func (f Fitting) why(needs []Need, where string) string {
	if f.Misfit < 0 {
		return ""
	}
	name := needs[f.Misfit].Name
	switch {
	case f.Never:
		return fmt.Sprintf("%s fits none of %s", name, where)
	case f.Given:
		return fmt.Sprintf("no way was found to fit %d jobs into %s, the search ended at %s", len(needs), where, name)
	}
	return fmt.Sprintf("%s does not fit into %s beside the others", name, where)
}

// Useful says which of the slots that ask for jobs a gang can use while it waits for more: those that some of its jobs go
// into, the largest job first, the tightest slot first, and of equal ones those that come first. The others need not be held.
func Useful(needs []Need, offered []Room) (use []bool) {
	rooms := make([]Room, len(offered))
	for i, r := range offered {
		rooms[i] = r.stated()
	}
	use = make([]bool, len(offered))
	for _, i := range largest(needs, rooms) {
		best := -1
		for r := range rooms {
			if rooms[r].takes(needs[i]) && (best < 0 || rooms[r].Cores < rooms[best].Cores) {
				best = r
			}
		}
		if best >= 0 {
			rooms[best], use[best] = rooms[best].without(needs[i]), true
		}
	}
	return use
}
