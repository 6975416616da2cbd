package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// held is a claim of the job: as the machine has it, and as it stands for people.
type held struct {
	gate.Shown
	*ClaimStanding
	look *look
}

// claims are those of the job. Of one that is over the machine knows nothing.
func (l *look) claims() (list []held) {
	for i := range l.subject.Claims {
		c := held{ClaimStanding: &l.subject.Claims[i], look: l}
		var known bool
		if c.Shown, known = l.View.Claim(c.ClaimStanding.ID); !known {
			c.Claim.State = resource.ClaimReleased
		}
		list = append(list, c)
	}
	return list
}

// claimed says which claim keeps the job from a queue, "" when none does: first what is so for all slots there, then what is so for the pilots
// that pulled lately.
func (l *look) claimed(q shares.Queue) (Gate, string) {
	all := l.claims()
	for i := range all {
		if g, reason := all[i].refuses(q); g != "" {
			return g, reason
		}
	}
	if g, reason := apart(all); g != "" {
		return g, reason
	}
	for i := range all {
		if g, ok := l.View.Gang(all[i].Shown.ID); ok {
			return l.gathers(q, g, all[i].Jobs)
		}
	}
	return l.offered(q, all)
}

func (c *held) refuses(q shares.Queue) (Gate, string) {
	switch most := c.Claim.Template.MaxSharers; {
	case c.Claim.State == resource.ClaimDraining, c.Claim.State == resource.ClaimReleased:
		return GateClaimDraining, fmt.Sprintf("%s is %s: nobody else gets to hold it", c.name(), c.Claim.State)
	case c.Missing && c.External:
		return GateClaimMissing, fmt.Sprintf("%s is not there: divvy resource-claim create %s makes it", c.name(), c.ClaimStanding.Key)
	case c.Missing:
		return GateTemplateMissing, fmt.Sprintf("neither the task nor the site has a template %q, which %s is made by: the first site file that has it will do",
			c.Claim.Template.Name, c.name())
	case c.boundAt() && c.ClaimStanding.Queue != q.Name:
		return GateClaimElsewhere, c.where()
	case most > 0 && c.Claim.Sharers >= most:
		return GateClaimFull, fmt.Sprintf("%s may be held by %s at a time: by %s now", c.name(), plural(most, "job"), c.holders())
	}
	return "", ""
}

func (c *held) name() string { return "claim " + c.ClaimStanding.Key }

// boundAt says whether those that share the claim run at one node, where it is bound.
func (c *held) boundAt() bool { return c.Claim.State == resource.ClaimBound && c.Local }

// where says where the claim is bound, since when, and who holds it there.
func (c *held) where() string {
	by := "held by " + c.holders()
	if c.Claim.Sharers == 0 && !c.External {
		by = "held by nobody: it stays there for " + seconds(c.LingerS) + " after its last holder"
	}
	since := ""
	if at := c.BoundAt; at != nil {
		since = fmt.Sprintf(" since %s (%s)", at.UTC().Format(time.TimeOnly), seconds(c.look.At.Sub(*at).Seconds()))
	}
	return fmt.Sprintf("%s is bound at node %s of queue %s%s, %s", c.name(), c.Node, c.ClaimStanding.Queue, since, by)
}

// namedHolders is how many of those that hold a claim a reason names.
const namedHolders = 4

// holders counts who holds the claim, and names the first of them.
func (c *held) holders() string {
	jobs := c.Shown.Holders(namedHolders, func(job int64) bool { _, is := c.look.View.Lease(job); return is })
	if len(jobs) == 0 {
		return plural(c.Claim.Sharers, "job")
	}
	list := strings.Trim(strings.ReplaceAll(fmt.Sprint(jobs), " ", ", "), "[]")
	if c.Claim.Sharers > len(jobs) {
		list += ", …"
	}
	return fmt.Sprintf("%s (%s)", plural(c.Claim.Sharers, "job"), list)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func seconds(s float64) string { return (time.Duration(s) * time.Second).String() }

// apart says whether claims of the job are bound at different nodes: it waits until all but one place are given up.
func apart(all []held) (Gate, string) {
	var first *held
	for i := range all {
		switch c := &all[i]; {
		case !c.boundAt():
		case first == nil:
			first = c
		case first.Place != c.Place:
			return GateClaimElsewhere, first.where() + "; " + c.where()
		}
	}
	return "", ""
}

// near is what a bound claim leaves of a queue: one node.
func (l *look) near() string {
	for _, c := range l.claims() {
		if c.boundAt() {
			return " from node " + c.Node
		}
	}
	return ""
}

// offered asks what the claims say to each pilot that pulled here lately, and gives the answer of the one at which they get furthest.
func (l *look) offered(q shares.Queue, all []held) (best Gate, reason string) {
	if len(all) == 0 {
		return "", ""
	}
	claims := make([]resource.Claim, len(all))
	for i := range all {
		claims[i] = all[i].Claim
	}
	at, nodes := -1, map[string]bool{}
	for pilot := range l.Pulls.PilotsAt(q.ID) {
		offer := resource.Offer{Place: resource.Place{Queue: q.Name, Node: pilot.Node}}
		offer.Devices = l.View.FreeDevices(offer.Place, pilot.Devices)
		_, refused, why := resource.AdmitsAll(claims, offer)
		if why == "" {
			return "", ""
		}
		nodes[pilot.Node] = true
		if g := Gate(why); g.place() > best.place() {
			best, at = g, refused
		}
	}
	if at < 0 {
		return "", "" // nobody pulled
	}
	switch c := &all[at]; best {
	case GateClaimNode:
		return best, fmt.Sprintf("%s takes a node, and no pilot that pulled here in the last five minutes says on which it is", c.name())
	case GateClaimDevices:
		return best, fmt.Sprintf("%s takes %s, and no pilot that pulled here in the last five minutes has as many that are free", c.name(),
			kinds(c.Claim.Template.Devices))
	default:
		return best, fmt.Sprintf("%s; none of the pilots that pulled here in the last five minutes is there (%s)", c.where(), nodeList(nodes))
	}
}

// kinds are numbers of devices, in words.
func kinds(of map[string]int) string {
	var parts []string
	for kind, n := range of {
		parts = append(parts, fmt.Sprintf("%d %s", n, kind))
	}
	slices.Sort(parts)
	return strings.Join(parts, " and ")
}

// nodeList names the first of the nodes that pilots are at.
func nodeList(nodes map[string]bool) string {
	delete(nodes, "")
	if len(nodes) == 0 {
		return "they name no node"
	}
	return "they are at " + shortList(slices.Sorted(maps.Keys(nodes)))
}

// mostGangNodes bounds the nodes that an explanation names.
const mostGangNodes = 5

// gathers says what a gang waits for at a queue: which node holds how much for it, until when, and what is missing at those where it was tried.
func (l *look) gathers(q shares.Queue, g gate.Gang, jobs int) (Gate, string) {
	all := plural(jobs, "job") + " start together on one node"
	if g.Lacks != "" {
		return GateGangWaiting, all + ": " + g.Lacks
	}
	var at []string
	for _, h := range l.View.GangHolds(l.At) {
		if h.Claim == g.Claim && h.Place.Queue == q.Name {
			held := l.AtNodes[h.Place]
			at = append(at, fmt.Sprintf("%s of node %s with %s are held for it until %s", plural(held.Slots, "slot"), h.Place.Node,
				plural(int(held.Cores), "core"), h.Hold.Until().UTC().Format(time.TimeOnly)))
		}
	}
	why := l.View.GangWhys(g.Claim)
	var places []resource.Place
	for place := range why {
		if place.Queue == q.Name {
			places = append(places, place)
		}
	}
	slices.SortFunc(places, func(a, b resource.Place) int { return strings.Compare(a.Node, b.Node) })
	for _, place := range places[:min(len(places), mostGangNodes)] {
		at = append(at, fmt.Sprintf("node %s: %s", place.Node, why[place]))
	}
	if len(at) == 0 {
		return GateGangWaiting, all + ", and no pull of this queue has come to them yet"
	}
	return GateGangWaiting, all + ": " + strings.Join(at, "; ")
}
