package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// claimsTruth is what the log says of claims.
type claimsTruth struct {
	by    map[int64]*claimTruth   // that are not over
	of    map[int64][]*claimTruth // of each job
	taken map[device]int64        // by which claim
	took  entry.Took              // of the grant that follows
	start map[*claimTruth]bool    // gangs that start now
}

// claimState is how a claim stands.
type claimState byte

const (
	pending  claimState = iota // nowhere
	bound                      // at the place of the job that was first
	draining                   // scaled away, and still held
	released
)

// claimTruth is a claim.
type claimTruth struct {
	made    entry.Claimed
	jobs    int // that are not over, made or not
	state   claimState
	queue   shares.QueueID // where it is
	node    string
	devices []string
	holders map[int64]bool // jobs
	since   time.Time      // nobody holds it
	deleted bool           // people made it, and want it no more
}

// device is one of a node.
type device struct {
	queue shares.QueueID
	node  string
	name  string
}

// local says whether all who hold the claim are on one node.
func (c *claimTruth) local() bool {
	return c.made.Template.Node || len(c.made.Template.Devices) > 0 || c.made.Outside() && c.made.Node != ""
}

func (c *claimTruth) units() int64 { return c.made.Template.Resources[licence] }

func (c *claimTruth) gpus() int { return c.made.Template.Devices["gpu"] }

// claimed makes a claim, or has more jobs hold it.
func (t *truth) claimed(e entry.Claimed) {
	if e.Outside() {
		t.madeOutside(e)
		return
	}
	c := t.claims.by[e.Claim]
	if c == nil {
		if c = (&claimTruth{made: e, holders: map[int64]bool{}}); e.Template.Gang {
			c.made.Template.Linger = 0 // those that are left start together again
		}
		t.claims.by[e.Claim] = c
	}
	c.jobs += e.Jobs
}

func (t *truth) joined(e entry.Joined) {
	for id := e.Low; id <= e.High; id++ {
		for _, claim := range e.Claims {
			c := t.claims.by[claim]
			if c == nil {
				t.violate("job %d joins claim %d, which is over", id, claim)
				continue
			}
			if t.claims.of[id] = append(t.claims.of[id], c); c.made.Outside() {
				c.jobs++
			}
		}
	}
}

// take has a job hold its claims; those that nobody holds are bound where it runs.
func (t *truth) take(l *leaseTruth) {
	devices := t.claims.took.Devices
	if t.claims.took.Job != l.Job {
		devices = nil
	}
	t.claims.took = entry.Took{}
	for _, c := range t.claims.of[l.Job] {
		most := c.made.Template.MaxSharers
		switch {
		case c.state == draining || c.state == released:
			t.violate("job %d gets claim %d, which was scaled away or is over", l.Job, c.made.Claim)
		case c.holders[l.Job]:
			t.violate("job %d gets claim %d a second time", l.Job, c.made.Claim)
		case c.state == bound && c.local() && (c.queue != l.Queue || c.node != l.Node):
			t.violate("job %d gets claim %d at node %q of queue %d, others hold it at %q of %d", l.Job, c.made.Claim, l.Node, l.Queue, c.node, c.queue)
		case c.made.Missing:
			t.violate("job %d gets claim %d, and there is no template for it", l.Job, c.made.Claim)
		case most > 0 && len(c.holders) >= most:
			t.violate("job %d gets claim %d, which %d hold of %d", l.Job, c.made.Claim, len(c.holders), most)
		case c.state == pending:
			devices = t.bind(c, l, devices)
		}
		c.holders[l.Job] = true
	}
	if len(devices) > 0 {
		t.violate("job %d takes the devices %v, and none of its claims has them", l.Job, devices)
	}
}

// bind takes what a claim needs of a node. It returns the devices that are left.
func (t *truth) bind(c *claimTruth, l *leaseTruth, devices []string) (left []string) {
	if t.seen.Bound++; c.made.Template.Gang {
		t.seen.Gangs++
		t.claims.start[c] = true
	}
	n := min(c.gpus(), len(devices))
	c.state, c.queue, c.node, c.devices = bound, l.Queue, l.Node, devices[:n:n]
	if n < c.gpus() || c.local() && l.Node == "" {
		t.violate("claim %d is bound at node %q with %v, and needs %d devices", c.made.Claim, l.Node, c.devices, c.gpus())
	}
	t.takeDevices(c)
	t.units[c.queue-1] += c.units()
	return devices[n:]
}

// takeDevices has a claim have its devices.
func (t *truth) takeDevices(c *claimTruth) {
	for _, d := range c.devices {
		at := device{c.queue, c.node, d}
		if of := t.claims.taken[at]; of != 0 {
			t.violate("claim %d takes %+v, which claim %d has", c.made.Claim, at, of)
		}
		t.claims.taken[at] = c.made.Claim
		if !slices.Contains(devicesOf, d) {
			t.violate("claim %d takes %+v, which is nowhere", c.made.Claim, at)
		}
	}
}

func (t *truth) freeDevices(c *claimTruth) {
	for _, d := range c.devices {
		delete(t.claims.taken, device{c.queue, c.node, d})
	}
}

// leave has a job hold its claims no more.
func (t *truth) leave(job int64, e *entry.Ended) {
	for _, c := range t.claims.of[job] {
		delete(c.holders, job)
		if e.Next.Final() || c.state == draining && !c.made.Outside() {
			c.jobs--
		}
		switch {
		case c.made.Outside():
			t.goneOutside(c)
		case len(c.holders) > 0:
		case c.state == draining || c.jobs == 0 || e.Outcome == entry.Lost || c.made.Template.Linger <= 0:
			t.unbind(c)
		default:
			c.since = t.time
		}
	}
	if e.Next.Final() {
		delete(t.claims.of, job)
	}
}

// drop has a job that is not held by anybody be over.
func (t *truth) drop(job int64) {
	for _, c := range t.claims.of[job] {
		if c.state != pending && c.state != bound && !c.made.Outside() {
			continue // it went with the claim
		}
		if c.jobs--; c.made.Outside() {
			t.goneOutside(c)
		} else if c.jobs == 0 {
			t.unbind(c)
		}
	}
	delete(t.claims.of, job)
}

// unclaimed ends a claim: with the last who holds it, or at once.
func (t *truth) unclaimed(claim int64) {
	c := t.claims.by[claim]
	switch {
	case c == nil:
	case c.made.Outside():
		c.state, c.deleted = draining, true
		t.goneOutside(c)
	case len(c.holders) == 0:
		c.jobs = 0
		t.unbind(c)
	default:
		c.state, c.jobs = draining, len(c.holders)
	}
}

// unbind gives back what a claim has. It is over when no job is left for it.
func (t *truth) unbind(c *claimTruth) {
	t.freeDevices(c)
	if c.state != pending {
		t.units[c.queue-1] -= c.units()
	}
	c.state, c.queue, c.node, c.devices = pending, 0, "", nil
	if c.jobs == 0 {
		c.state = released
		delete(t.claims.by, c.made.Claim)
	}
}

// admits says whether claims let a job run at a node.
func (t *truth) admits(job int64, queue, node int) bool {
	gpus := 0
	for _, c := range t.claims.of[job] {
		most := c.made.Template.MaxSharers
		switch {
		case c.state == draining, c.state == released:
			return false
		case most > 0 && len(c.holders) >= most:
			return false
		case c.local() && node == 0, c.made.Missing, c.made.Template.Gang && c.state == pending:
			return false
		case c.local() && c.state == bound && (c.queue != queueID(queue) || c.node != nodesOf[node]):
			return false
		case c.state == pending:
			gpus += c.gpus()
		}
	}
	for _, d := range devicesOf {
		if t.claims.taken[device{queueID(queue), nodesOf[node], d}] == 0 {
			gpus--
		}
	}
	return gpus <= 0
}

// gangWaits says whether jobs wait to start together.
func (cs *claimsTruth) gangWaits() bool {
	for _, c := range cs.by {
		if c.made.Template.Gang && c.state == pending {
			return true
		}
	}
	return false
}

// together judges that the gangs that have just started did so with all their jobs.
func (t *truth) together() {
	for c := range t.claims.start {
		for id, j := range t.jobs {
			if (j.ready || j.aside || j.waits) && slices.Contains(t.claims.of[id], c) {
				t.violate("claim %d is bound without job %d, which starts with the others or not at all", c.made.Claim, id)
			}
		}
	}
	clear(t.claims.start)
}

// templates has claims know what they are that wait for the site to say so.
func (t *truth) templates(v *shares.Version) {
	for _, c := range t.claims.by {
		for _, of := range v.ClaimTemplates {
			if c.made.Missing && of.Name == c.made.Template.Name {
				if c.made.Missing, c.made.Template = false, of; of.Gang {
					c.made.Template.Linger = 0
				}
			}
		}
	}
}

// recountClaims holds the machine's claims against those of the log.
func (t *truth) recountClaims(v *machine.View) {
	states := map[resource.ClaimState]claimState{resource.ClaimPending: pending, resource.ClaimBound: bound, resource.ClaimDraining: draining,
		resource.ClaimReleased: released}
	there := maps.Clone(t.claims.by)
	if saved := v.Claims(); saved != nil {
		for _, m := range saved.Claims {
			c := there[m.ID]
			delete(there, m.ID)
			switch {
			case c == nil && states[m.State] == released: // of jobs that are killed next
			case c == nil:
				t.violate("the machine has claim %d, which is over: %+v", m.ID, m.Claim)
			case states[m.State] != c.state || m.Sharers != len(c.holders) || m.Jobs != c.jobs && !m.External || !slices.Equal(m.Devices, c.devices),
				c.state == bound && c.local() && m.Place.Node != c.node:
				t.violate("the machine has claim %d as %+v, the log as %+v", m.ID, m.Claim, *c)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(there)) {
		t.violate("the machine does not have claim %d: %+v", id, *there[id])
	}
}
