package dispatcher

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// isClaim says whether a gate is one of claims.
func gateIsClaim(g Gate) bool { return strings.HasPrefix(string(g), "claim_") || g == GateGangWaiting }

// claimOfJob is a claim of the job that is explained.
type claimOfJob struct {
	claimListRow
	HeldBy []int64 // the first that hold it
	Now    time.Time
}

// claimsOfJob reads the claims of a job, in its order.
func (d *Dispatcher) claimsOfJob(ctx context.Context, j *subject, e *Explanation) error {
	if len(j.Claims) == 0 {
		return nil
	}
	var err error
	if j.claims, err = collect[claimOfJob](ctx, d.cfg.Pool, "explain_claims", pgx.StrictNamedArgs{"ids": j.Claims}); err != nil {
		return err
	}
	for i := range j.claims {
		e.Claims = append(e.Claims, j.claims[i].standing())
	}
	return nil
}

// claim is what package resource makes of it.
func (c *claimOfJob) claim() resource.Claim {
	t := c.Template
	out := resource.NewClaim(shares.ClaimTemplate{Name: t.Name, Node: t.Node, Devices: t.Devices, MaxSharers: t.MaxSharers}, 1)
	out.State, out.Sharers, out.Missing, out.External = resource.ClaimState(c.State), c.Sharers, t.Missing, c.TaskID == 0
	out.Place, out.Devices, out.Local = resource.Place{Queue: c.Queue, Node: c.Node}, c.Devices, c.local()
	return out
}

// local says whether those that share the claim run at one node, where it is bound.
func (c *claimOfJob) local() bool {
	return c.Node != "" && (c.TaskID == 0 || c.Template.Node || len(c.Template.Devices) > 0)
}

// claimed says which of its claims keeps the job from a queue, "" when none does: what is so for all slots there first, then
// what keeps it from each of the pilots that pulled lately.
func (g *gates) claimed(q *queue) (Gate, string) {
	for i := range g.job.claims {
		if gate, reason := g.job.claims[i].refuses(q); gate != "" {
			return gate, reason
		}
	}
	if gate, reason := g.apart(); gate != "" {
		return gate, reason
	}
	if g.shape.need.Claims.Starts() {
		return g.gathers(q)
	}
	return g.offered(q)
}

// refuses is what a claim says to all slots of a queue.
func (c *claimOfJob) refuses(q *queue) (Gate, string) {
	t := c.Template
	switch state := resource.ClaimState(c.State); {
	case state == resource.ClaimDraining, state == resource.ClaimReleased:
		return GateClaimDraining, fmt.Sprintf("%s is %s: nobody else gets to hold it", c.name(), c.State)
	case state == resource.ClaimPending && c.TaskID == 0:
		return GateClaimMissing, fmt.Sprintf("%s is not there: divvy resource-claim create %s makes it", c.name(), c.Key)
	case state == resource.ClaimPending && t.Missing:
		return GateTemplateMissing, fmt.Sprintf("neither the task nor the site has a template %q, which %s is made by: the first site file that has it will do", t.Name, c.name())
	case c.local() && c.Queue != q.Name:
		return GateClaimElsewhere, c.where()
	case t.MaxSharers > 0 && c.Sharers >= t.MaxSharers:
		return GateClaimFull, fmt.Sprintf("%s may be held by %s at a time: by %s now", c.name(), plural(t.MaxSharers, "job"), c.holders())
	}
	return "", ""
}

func (c *claimOfJob) name() string { return "claim " + c.Key }

// where says where the claim is bound, since when, and who holds it there.
func (c *claimOfJob) where() string {
	held := "held by " + c.holders()
	if c.Sharers == 0 && c.TaskID != 0 {
		held = "held by nobody: it stays there for " + seconds(c.LingerS) + " after its last holder"
	}
	since := ""
	if c.BoundAt != nil {
		since = fmt.Sprintf(" since %s (%s)", c.BoundAt.UTC().Format(time.TimeOnly), seconds(c.Now.Sub(*c.BoundAt).Seconds()))
	}
	return fmt.Sprintf("%s is bound at node %s of queue %s%s, %s", c.name(), c.Node, c.Queue, since, held)
}

// holders counts who holds the claim, and names the first of them.
func (c *claimOfJob) holders() string {
	if c.Sharers == 0 || len(c.HeldBy) == 0 {
		return plural(c.Sharers, "job")
	}
	names := make([]string, len(c.HeldBy))
	for i, id := range c.HeldBy {
		names[i] = fmt.Sprint(id)
	}
	list := strings.Join(names, ", ")
	if c.Sharers > len(names) {
		list += ", …"
	}
	return fmt.Sprintf("%s (%s)", plural(c.Sharers, "job"), list)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func seconds(s float64) string {
	return (time.Duration(s) * time.Second).String()
}

// apart says whether claims of the job are bound at different nodes: it waits until all but one place are given up.
func (g *gates) apart() (Gate, string) {
	var first *claimOfJob
	for i := range g.job.claims {
		c := &g.job.claims[i]
		switch {
		case !c.local():
		case first == nil:
			first = c
		case first.Queue != c.Queue || first.Node != c.Node:
			return GateClaimElsewhere, first.where() + "; " + c.where()
		}
	}
	return "", ""
}

// offered asks what the claims say to each pilot that pulled here lately, and gives the answer of the one at which they get
// furthest.
func (g *gates) offered(q *queue) (Gate, string) {
	if len(g.job.claims) == 0 || len(q.pilots) == 0 {
		return "", ""
	}
	claims := make([]resource.Claim, len(g.job.claims))
	for i := range claims {
		claims[i] = g.job.claims[i].claim()
	}
	var best Gate
	at, nodes := -1, map[string]bool{}
	for _, pilot := range q.pilots {
		offer := g.s.claims.free(resource.Place{Queue: q.Name, Node: pilot.node}, pilot.devices)
		_, refused, why := resource.AdmitsAll(claims, offer)
		if why == "" {
			return "", ""
		}
		nodes[pilot.node] = true
		if gate := Gate(why); best == "" || gateOrder[gate] > gateOrder[best] {
			best, at = gate, refused
		}
	}
	delete(nodes, "")
	c := &g.job.claims[at]
	switch best {
	case GateClaimNode:
		return best, fmt.Sprintf("%s takes a node, and no pilot that pulled here in the last five minutes says on which it is", c.name())
	case GateClaimDevices:
		return best, fmt.Sprintf("%s takes %s, and no pilot that pulled here in the last five minutes has as many that are free", c.name(), devicesOf(c.Template.Devices))
	}
	return best, fmt.Sprintf("%s; none of the pilots that pulled here in the last five minutes is there (%s)", c.where(), nodeList(nodes))
}

func devicesOf(kinds map[string]int) string {
	var parts []string
	for kind, n := range kinds {
		parts = append(parts, fmt.Sprintf("%d %s", n, kind))
	}
	slices.Sort(parts)
	return strings.Join(parts, " and ")
}

// nodeList names the first of the nodes that pilots are at.
func nodeList(nodes map[string]bool) string {
	var names []string
	for name := range nodes {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "they name no node"
	}
	return "they are at " + shortList(names)
}

// near is what a bound claim leaves of a queue: one node.
func (g *gates) near() string {
	if need := g.shape.need.Claims; need.Bound() {
		return " from node " + need.Node
	}
	return ""
}
