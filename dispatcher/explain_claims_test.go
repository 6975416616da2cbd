package dispatcher

import (
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// paired is a task of one group of two jobs that share a GPU.
func paired(template shares.ClaimTemplate) resource.Layout {
	template.Name = "gpu"
	return resource.Layout{Replicas: 1, Templates: []shares.ClaimTemplate{template},
		Groups: []resource.Group{{Name: "g", Replicas: 1, Members: []resource.Role{{Name: "main", Count: 1}, {Name: "shadow", Count: 1}},
			Sharing: []resource.Sharing{{Template: "gpu", Scope: resource.PerReplica}}}}}
}

// A gate of claims a row: who pulled at node n1 before, which pilots are there, and what explain says of the other job.
func TestEveryGateOfClaims(t *testing.T) {
	oneGPU := shares.ClaimTemplate{Devices: map[string]int{"gpu": 1}}
	for name, c := range map[string]struct {
		template shares.ClaimTemplate
		bound    bool     // one of the two got a slot at node n1 of queue q
		node     string   // of the pilot that pulls at the queue last
		devices  []string // of it
		change   string   // SQL
		queue    string
		gate     Gate
		why      []string
	}{
		"bound at another queue": {template: oneGPU, bound: true, queue: "p", gate: GateClaimElsewhere,
			why: []string{"claim 0/g/0/gpu is bound at node n1 of queue q since ", "held by 1 job (", ")"}},
		"bound, and pilots of its node pull": {template: oneGPU, bound: true, node: "n1", devices: gpus(1), queue: "q", gate: GateNone, why: []string{"the next slot that pulls here from node n1 gets it"}},
		"bound, and its node has gone": {template: oneGPU, bound: true, node: "n2", devices: gpus(1), queue: "q", gate: GateClaimElsewhere,
			change: "DELETE", why: []string{"bound at node n1 of queue q", "none of the pilots that pulled here in the last five minutes is there (they are at n2)"}},
		"bound, held by nobody": {template: shares.ClaimTemplate{Node: true, Linger: 90 * time.Second}, bound: true, queue: "p", gate: GateClaimElsewhere,
			change: "UPDATE resource_claims SET sharers = 0", why: []string{"held by nobody: it stays there for 1m30s after its last holder"}},
		"full": {template: shares.ClaimTemplate{Node: true}, bound: true, node: "n1", queue: "q", gate: GateClaimFull,
			change: `UPDATE resource_claims SET template = template || '{"max_sharers": 1}'`, why: []string{"claim 0/g/0/gpu may be held by 1 job at a time: by 1 job ("}},
		"no pilot names its node": {template: shares.ClaimTemplate{Node: true}, node: "", devices: nil, queue: "q", gate: GateClaimNode, why: []string{"claim 0/g/0/gpu takes a node, and no pilot"}},
		"too few devices":         {template: shares.ClaimTemplate{Devices: map[string]int{"gpu": 2, "nic": 1}}, node: "n1", devices: gpus(2), queue: "q", gate: GateClaimDevices, why: []string{"takes 1 nic and 2 gpu"}},
		"nobody has pulled":       {template: oneGPU, queue: "p", gate: GateNone, why: []string{"no pilot has pulled here"}},
		"template missing": {template: oneGPU, node: "n1", devices: gpus(1), queue: "q", gate: GateTemplateMissing,
			change: `UPDATE resource_claims SET template = '{"name": "gpu", "missing": true}'`, why: []string{`neither the task nor the site has a template "gpu"`}},
		"claim missing": {template: oneGPU, node: "n1", devices: gpus(1), queue: "q", gate: GateClaimMissing,
			change: "UPDATE resource_claims SET task_id = 0, key = 'shelf'", why: []string{"claim shelf is not there: divvy resource-claim create shelf makes it"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10), slots("p", 10))
			d := f.daemon()
			f.tending(d)
			job := int64(0)
			names := f.enqueueLayout("A", paired(c.template))
			if c.bound {
				got := pullAt(t, d, slotAt("q", "n1", gpus(1)...))
				delete(names, got.Job)
			}
			for id := range names {
				if job == 0 || id < job {
					job = id
				}
			}
			if c.change == "DELETE" { // as if the pilot of n1 had last pulled six minutes ago
				d.mu.Lock()
				clear(d.state.byName["q"].pilots)
				d.mu.Unlock()
			} else if c.change != "" {
				f.exec(c.change)
			}
			if c.node != "" || c.gate == GateClaimNode {
				req := slotAt("q", c.node, c.devices...)
				d.mu.Lock()
				d.state.byName["q"].pilots["x"] = seen{at: time.Now(), node: req.Node, devices: req.Devices}
				d.mu.Unlock()
			}
			e := explained(t, d, job, func(e Explanation) bool {
				g := gateAt(e, c.queue)
				ok := g.Gate == c.gate
				for _, why := range c.why {
					ok = ok && strings.Contains(g.Reason, why)
				}
				return ok
			})
			if len(e.Claims) != 1 || e.Claims[0].Template.Name != "gpu" {
				t.Errorf("%+v", e.Claims)
			}
			if gateIsClaim(e.Gate) && (!strings.HasPrefix(e.Summary, "It waits for a claim: ") || e.ETA.Known) {
				t.Errorf("%s %+v", e.Summary, e.ETA)
			}
		})
	}
}

// Claims of one job at two nodes: both are told. A job that runs tells of its claims too.
func TestExplainClaimsApart(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d := f.daemon()
	l := paired(shares.ClaimTemplate{Node: true})
	l.Templates = append(l.Templates, shares.ClaimTemplate{Name: "disk", Node: true})
	l.Sharing = []resource.Sharing{{Template: "disk", Scope: resource.All}}
	names := f.enqueueLayout("A", l)
	first := pullAt(t, d, slotAt("q", "n1"))
	delete(names, first.Job)
	f.exec("UPDATE resource_claims SET node = 'n2' WHERE key = 'disk'")
	for job := range names {
		e := explained(t, d, job, func(e Explanation) bool { return gateAt(e, "q").Gate == GateClaimElsewhere })
		if r := gateAt(e, "q").Reason; !strings.Contains(r, "claim disk is bound at node n2") || !strings.Contains(r, "; claim 0/g/0/gpu is bound at node n1") {
			t.Error(r)
		}
	}
	e, err := d.Explain(t.Context(), first.Job)
	if err != nil || len(e.Claims) != 2 || e.Claims[0].Key != "disk" || e.Claims[0].Sharers != 1 {
		t.Errorf("%+v %v", e.Claims, err)
	}
}
