package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

var oneGPU = shares.ClaimTemplate{Name: "gpu", Devices: map[string]int{"gpu": 1}}

// pair is two jobs of A that share a claim.
func (p *plant) pair(c entry.Claimed) []Subject {
	p.t.Helper()
	c.Claim, c.Task, c.Key, c.Jobs = 7, p.tasks+1, "0/g/0/gpu", 2
	p.apply(c)
	return p.share2(c.Task, c.Claim)
}

// share2 is two jobs of A that share claims.
func (p *plant) share2(task int64, claims ...int64) []Subject {
	p.t.Helper()
	p.apply(entry.Joined{Task: task, Low: p.next, High: p.next + 1, Claims: claims})
	jobs := p.enqueue(batch{share: "A", n: 2})
	for i := range jobs {
		jobs[i].Claims = p.standings(claims)
	}
	return jobs
}

// standings are claims as they are now.
func (p *plant) standings(ids []int64) (list []ClaimStanding) {
	for _, id := range ids {
		c, _ := p.m.View().Claim(id)
		at := p.m.Now().Add(-time.Minute)
		list = append(list, ClaimStanding{ID: id, Key: c.Key, Queue: c.Place.Queue, Node: c.Place.Node, BoundAt: &at, LingerS: c.Template.Linger.Seconds(), Sharers: c.Sharers})
	}
	return list
}

// start gives a job to a pilot at node n1 of queue q.
func (p *plant) start() {
	p.t.Helper()
	d := p.m.Decide(machine.Pull{Queue: 1, Slot: job.Slot{Cores: 1}, Most: 1, Pilot: "p", Node: "n1", Devices: []string{"gpu:0"}, Nonce: 1, Until: p.m.Now()})
	if d.Verdict != machine.Given {
		p.t.Fatalf("%+v", d)
	}
}

// end ends the lease of a job.
func (p *plant) end(id int64) {
	p.t.Helper()
	p.apply(entry.Ended{Job: id, Attempt: 1, Outcome: entry.Finished})
}

// A gate of claims a row: what is made, what happens, which pilot is at queue q, and what is said of the second job.
func TestGatesOfClaims(t *testing.T) {
	t.Parallel()
	node := shares.ClaimTemplate{Name: "gpu", Node: true, Linger: 90 * time.Second}
	for name, c := range map[string]struct {
		made    entry.Claimed
		start   bool // the first job
		over    bool // and it ends
		set     func(*plant)
		pilot   Pilot
		queue   int // of which the gate is asked for
		gate    Gate
		reasons []string
	}{
		"bound at another queue": {made: entry.Claimed{Template: oneGPU}, start: true, queue: 1, gate: GateClaimElsewhere,
			reasons: []string{"claim 0/g/0/gpu is bound at node n1 of queue q since 07:59:00 (1m0s), held by 1 job (1)"}},
		"bound, and pilots of its node pull": {made: entry.Claimed{Template: oneGPU}, start: true, pilot: Pilot{Node: "n1"}, gate: GateNone, reasons: []string{"the next slot that pulls here from node n1 gets it"}},
		"bound, and its node has gone": {made: entry.Claimed{Template: oneGPU}, start: true, pilot: Pilot{Node: "n2"}, gate: GateClaimElsewhere,
			reasons: []string{"bound at node n1 of queue q", "none of the pilots that pulled here in the last five minutes is there (they are at n2)"}},
		"bound, held by nobody": {made: entry.Claimed{Template: node}, start: true, over: true, queue: 1, gate: GateClaimElsewhere, reasons: []string{"held by nobody: it stays there for 1m30s after its last holder"}},
		"full": {made: entry.Claimed{Template: shares.ClaimTemplate{Name: "gpu", Node: true, MaxSharers: 1}}, start: true, pilot: Pilot{Node: "n1"}, gate: GateClaimFull,
			reasons: []string{"claim 0/g/0/gpu may be held by 1 job at a time: by 1 job (1) now"}},
		"no pilot names its node": {made: entry.Claimed{Template: node}, gate: GateClaimNode, reasons: []string{"claim 0/g/0/gpu takes a node, and no pilot"}},
		"too few devices": {made: entry.Claimed{Template: shares.ClaimTemplate{Name: "gpu", Devices: map[string]int{"gpu": 2, "nic": 1}}}, pilot: Pilot{Node: "n1", Devices: []string{"gpu:0", "gpu:1"}},
			gate: GateClaimDevices, reasons: []string{"takes 1 nic and 2 gpu"}},
		"template missing": {made: entry.Claimed{Template: shares.ClaimTemplate{Name: "gpu"}, Missing: true}, gate: GateTemplateMissing, reasons: []string{`neither the task nor the site has a template "gpu"`}},
		"draining":         {made: entry.Claimed{Template: node}, start: true, set: func(p *plant) { p.apply(entry.Unclaimed{Claim: 7}) }, gate: GateClaimDraining, reasons: []string{"claim 0/g/0/gpu is draining"}},
		"units of the claim": {made: entry.Claimed{Template: shares.ClaimTemplate{Name: "gpu", Resources: map[string]int64{"lic": 3}}}, set: licences(2), gate: GateResourceCapacity,
			reasons: []string{"it needs 3 units of lic, and there are 2 in all"}},
		"gang": {made: entry.Claimed{Template: shares.ClaimTemplate{Name: "gpu", Node: true, Gang: true}}, gate: GateGangWaiting,
			reasons: []string{"2 jobs start together on one node, and no pull of this queue has come to them yet"}},
		"gang on a small node": {made: entry.Claimed{Template: shares.ClaimTemplate{Name: "gpu", Node: true, Gang: true}}, gate: GateGangWaiting,
			set: func(p *plant) { p.decide(1, job.Slot{Cores: 1}) }, reasons: []string{"2 jobs start together on one node: node n: "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlant(t, two(), slots("q", 10), slots("p", 10))
			jobs := p.pair(c.made)
			if c.start {
				p.start()
			}
			if c.over {
				p.end(jobs[0].Job)
			}
			if c.set != nil {
				c.set(p)
			}
			s := jobs[1]
			s.Claims = p.standings([]int64{7})
			m := p.moment()
			m.Pulls.(pulls).pilots[1] = []Pilot{c.pilot}
			e := m.Job(s)
			at := e.Queues[c.queue]
			if at.Gate != c.gate {
				t.Errorf("%s: %s", at.Gate, at.Reason)
			}
			for _, why := range c.reasons {
				if !strings.Contains(at.Reason, why) {
					t.Errorf("%q, want %q", at.Reason, why)
				}
			}
			isClaim := strings.HasPrefix(string(e.Gate), "claim_") || e.Gate == GateGangWaiting
			if isClaim && (!strings.HasPrefix(e.Summary, "It waits for a claim: ") || e.ETA.Known) {
				t.Errorf("%s %+v", e.Summary, e.ETA)
			}
		})
	}
}

// A claim that people are to make, and claims of one job at two nodes: both are told.
func TestGatesOfClaimsThatPeopleMake(t *testing.T) {
	t.Parallel()
	p := newPlant(t, two(), slots("q", 10))
	p.apply(entry.Claimed{Claim: 8, Key: "shelf", Missing: true, Template: shares.ClaimTemplate{Name: "shelf"}})
	s := p.share2(1, 8)[0]
	if at := p.moment().Job(s).Queues[0]; at.Gate != GateClaimMissing || !strings.Contains(at.Reason, "claim shelf is not there: divvy resource-claim create shelf makes it") {
		t.Errorf("%+v", at)
	}
	p.apply(entry.Claimed{Claim: 8, Key: "shelf", Queue: 1, Node: "n1"})
	p.apply(entry.Claimed{Claim: 9, Key: "disk", Queue: 1, Node: "n2"})
	s = p.share2(2, 8, 9)[0]
	at := p.moment().Job(s).Queues[0]
	if at.Gate != GateClaimElsewhere || !strings.Contains(at.Reason, "claim shelf is bound at node n1") || !strings.Contains(at.Reason, "; claim disk is bound at node n2") {
		t.Errorf("%+v", at)
	}
}
