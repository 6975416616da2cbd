package machine

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// oracle decides one grant slowly: every job and every limit is looked at, nothing is remembered between two decisions. Of the
// machine it believes what is ready, what has a lease, who was served last and what shares have missed.
type oracle struct {
	m    *Machine
	site shares.Version
	q    shares.Queue
	pull Pull
	left job.Room
	book *shares.Pool
}

// candidate is a job that nothing keeps back.
type candidate struct {
	leaf   int
	shape  *shape
	job    ready.Range
	user   string
	remote bool
}

func newOracle(m *Machine, p Pull, left job.Room) *oracle {
	o := &oracle{m: m, site: m.Site(), pull: p, left: left}
	o.q = o.site.Queues[slices.IndexFunc(o.site.Queues, func(q shares.Queue) bool { return q.ID == p.Queue })]
	o.book = o.newBook()
	return o
}

func (o *oracle) queue(id shares.QueueID) (shares.Queue, bool) {
	i := slices.IndexFunc(o.site.Queues, func(q shares.Queue) bool { return q.ID == id })
	if i < 0 {
		return shares.Queue{}, false
	}
	return o.site.Queues[i], true
}

// sum adds something up over leases.
func (o *oracle) sum(of func(Lease, shares.Queue) int64) (n int64) {
	for l := range o.m.Leases() {
		if q, ok := o.queue(l.Queue); ok {
			n += of(l, q)
		}
	}
	return n
}

func (o *oracle) cores(l Lease) int64 { return int64(o.m.words.shapes[l.Shape].Need.Cores) }

// capacity is C of the pool, and what runs out beside it.
func (o *oracle) capacity() (c, offline shares.Units) {
	c = books.Capacities(o.site.Queues)[o.q.Pool]
	offline = shares.Units(o.sum(func(l Lease, q shares.Queue) int64 {
		if q.Pool == o.q.Pool && q.State != shares.Online {
			return int64(l.Units)
		}
		return 0
	}))
	return c, offline
}

func (o *oracle) newBook() *shares.Pool {
	tree := o.site.Tree
	book := shares.NewPool(tree, o.q.Pool)
	if c, offline := o.capacity(); c == shares.Unlimited {
		book.SetCapacity(c)
	} else {
		book.SetCapacity(c + offline)
	}
	for l := range o.m.Leases() {
		q, ok := o.queue(l.Queue)
		if leaf, is := o.m.site.Leaf(l.Share); ok && is && q.Pool == o.q.Pool {
			book.Hold(leaf, l.Units)
		}
	}
	for _, leaf := range tree.Leaves() {
		book.SetWant(leaf, o.want(leaf))
	}
	of := o.m.site.Queues[o.q.ID].Home
	leaves := tree.Leaves()
	slices.SortFunc(leaves, func(a, b int) int { return cmp.Compare(of.Last[a], of.Last[b]) })
	for _, leaf := range leaves {
		if of.Last[leaf] > 0 {
			book.Granted(leaf)
		}
	}
	for i := range tree.Nodes {
		if tree.Nodes[i].Plan.HalfLife > 0 {
			book.SetLag(i, of.Book.Lag(i))
		}
	}
	return book
}

func (o *oracle) runs(q shares.Queue, leaf int, need job.Requirements) bool {
	return job.RunsAt(need, q) && q.Runs(o.site.Tree.Nodes[leaf].Path)
}

// reaches says whether a queue may run jobs of a buffer by where their claims are: asked of its first job.
func (o *oracle) reaches(q shares.Queue, b *buffer) bool {
	first, ok := b.First()
	if !ok {
		return true
	}
	at := ""
	for _, id := range o.m.claims.HeldBy(first.Low) {
		c, _ := o.m.claims.Claim(id)
		switch {
		case c.Missing, c.State == resource.ClaimDraining, c.State == resource.ClaimReleased:
			return false
		case c.Local && at == "":
			at = c.Place.Queue + " " + c.Place.Node
		case c.Local && at != c.Place.Queue+" "+c.Place.Node:
			return false
		}
	}
	return at == "" || strings.HasPrefix(at, q.Name+" ")
}

// want is what the jobs of a leaf that are ready or to be made could use, within the queues that could run them.
func (o *oracle) want(leaf int) (want shares.Units) {
	type part struct {
		units, cap, held shares.Units
		queues           map[shares.QueueID]bool
		bounded          bool
	}
	parts := map[string]*part{}
	all := &part{queues: map[shares.QueueID]bool{}, bounded: true}
	targets := false
	id := o.site.Tree.Nodes[leaf].ID
	for key, b := range o.m.buffers {
		n := b.Count() + b.expected
		if key.Share != id || n == 0 {
			continue
		}
		class := b.shape.Class
		if parts[class] == nil {
			parts[class] = &part{queues: map[shares.QueueID]bool{}, bounded: true}
		}
		power := int64(0)
		for _, q := range o.site.Queues {
			if q.Pool == o.q.Pool && o.runs(q, leaf, b.shape.plainNeed()) && o.reaches(q, b) {
				power = max(power, q.CorePowerMilli)
				all.queues[q.ID], parts[class].queues[q.ID] = true, true
			}
		}
		parts[class].units += shares.Units(n * int64(b.shape.Need.Cores) * power)
	}
	measure := func(p *part, class string) {
		for _, q := range o.site.Queues {
			if p.queues[q.ID] {
				e := o.m.site.Queues[q.ID]
				targets = targets || len(e.Targets) > 0
				u, ok := o.m.site.MostAt(e, id, class)
				p.bounded, p.cap = p.bounded && ok, p.cap+u
			}
		}
		for l := range o.m.Leases() {
			if l.Share == id && p.queues[l.Queue] && (class == "" || o.m.words.shapes[l.Shape].Class == class) {
				p.held += l.Units
			}
		}
	}
	measure(all, "")
	for class, p := range parts {
		if targets {
			measure(p, class)
			if p.bounded {
				p.units = min(p.units, max(0, p.cap-p.held))
			}
		}
		want += p.units
	}
	if all.bounded {
		want = min(want, max(0, all.cap-all.held))
	}
	return want
}

// admitted says whether limits and lending let a leaf have a job.
func (o *oracle) admitted(leaf int, sh *shape) bool {
	cores, units := int64(sh.Need.Cores), shares.Units(int64(sh.Need.Cores)*o.q.CorePowerMilli)
	heldHere := o.sum(func(l Lease, q shares.Queue) int64 {
		if q.ID == o.q.ID {
			return o.cores(l)
		}
		return 0
	})
	if o.q.Slots != nil && heldHere+cores > int64(*o.q.Slots) {
		return false
	}
	c, offline := o.capacity()
	total := shares.Units(o.sum(func(l Lease, q shares.Queue) int64 {
		if q.Pool == o.q.Pool {
			return int64(l.Units)
		}
		return 0
	}))
	if c != shares.Unlimited && total-offline+units > c {
		return false
	}
	tree := o.site.Tree
	for _, t := range o.m.site.Queues[o.q.ID].Targets {
		held := o.sum(func(l Lease, q shares.Queue) int64 {
			if q.ID == o.q.ID && t.Covers(tree, l.Share, o.m.words.shapes[l.Shape].Class) {
				return o.cores(l)
			}
			return 0
		})
		if t.Covers(tree, tree.Nodes[leaf].ID, sh.Class) && held+cores > int64(t.Slots) {
			return false
		}
	}
	_, ok := o.book.Admits(leaf, units)
	return ok
}

// candidates are the jobs that the slot may have.
func (o *oracle) candidates() (list []candidate) {
	labels := map[string]string{}
	for _, of := range [2]map[string]string{o.q.Labels, o.pull.Slot.Labels} {
		for k, v := range of {
			labels[k] = v
		}
	}
	for key, b := range o.m.buffers {
		leaf, ok := o.m.site.Leaf(key.Share)
		if !ok || job.Fits(b.shape.plainNeed(), o.q, labels) != "" || !o.left.Fits(b.shape.Need) || !o.pull.Only.Takes(b.shape.Need.Label) ||
			!o.q.Runs(o.site.Tree.Nodes[leaf].Path) || !o.admitted(leaf, b.shape) {
			continue
		}
		for r := range b.Ranges() {
			user, _ := o.m.ready.User(r.Task)
			if o.pull.Only.Task != 0 && o.pull.Only.Task != r.Task || o.pull.Only.User != "" && o.pull.Only.User != user {
				continue
			}
			r, ok := o.admittedByClaims(r)
			if !ok {
				continue
			}
			remote := b.shape.Need.Locality == job.LocalityPreferred && !job.Local(b.shape.Need.Locations, o.q) && r.Low > o.m.elders.UpTo
			list = append(list, candidate{leaf, b.shape, r, b.Key().User, remote})
			break // it is the first of its buffer
		}
	}
	return list
}

// admittedByClaims finds the first job of a range that its claims admit: each is asked.
func (o *oracle) admittedByClaims(r ready.Range) (ready.Range, bool) {
	for ; r.Low <= r.High; r.Low++ {
		offer := resource.Offer{Place: resource.Place{Queue: o.q.Name, Node: o.pull.Node}, Devices: o.pull.Devices}
		if _, reason, _ := o.m.claims.Pick(r.Low, offer); reason == "" {
			return r, true
		}
	}
	return r, false
}

// plainNeed is what jobs of a shape need, but for their claims.
func (sh *shape) plainNeed() job.Requirements {
	need := sh.Need
	need.Claims = nil
	return need
}

// chosen is the leaf that comes first, and the class of which it gives a job; empty: any.
func (o *oracle) chosen(list []candidate) (leaf int, class string) {
	c, offline := o.capacity()
	if c != shares.Unlimited {
		c += offline
	}
	r := shares.Round(c, o.book.Held(0), o.left.Offered(o.q, o.pull.Most))
	for _, d := range o.m.site.Debts() {
		for _, x := range list {
			if d.Pool == o.q.Pool && o.site.Tree.Nodes[x.leaf].ID == d.Share {
				return x.leaf, ""
			}
		}
	}
	floors := slices.Clone(o.m.site.Queues[o.q.ID].Floors)
	slices.SortStableFunc(floors, func(a, b *books.Target) int { return cmp.Compare(b.Lack(), a.Lack()) })
	for _, f := range floors {
		var set shares.Contenders
		for _, x := range list {
			if slices.Contains(f.Leaves, x.leaf) && (f.Class == "" || f.Class == x.shape.Class) && f.Lack() > 0 {
				set.Set(o.book, x.leaf, true)
			}
		}
		if leaf, ok := set.Choose(o.book, r); ok {
			return leaf, f.Class
		}
	}
	var set shares.Contenders
	for _, x := range list {
		set.Set(o.book, x.leaf, true)
	}
	leaf, _ = set.Choose(o.book, r)
	return leaf, ""
}

// decide is the job that the pull is to get; 0: none.
func (o *oracle) decide() int64 {
	list := o.candidates()
	if len(list) == 0 {
		return 0
	}
	leaf, class := o.chosen(list)
	list = slices.DeleteFunc(list, func(x candidate) bool { return x.leaf != leaf || class != "" && x.shape.Class != class })
	fair := o.site.Tree.Nodes[leaf].Plan.Within == shares.FairUser && o.pull.Only.Task == 0 && o.pull.Only.User == ""
	p := o.m.site.Queues[o.q.ID].Home
	turn := func(x candidate) (held shares.Units, served uint64) {
		if !fair {
			return 0, 0
		}
		u := o.m.leaves[leaf].users.Of(x.user)
		return u.Held[p], u.Served[p]
	}
	best := slices.MinFunc(list, func(a, b candidate) int {
		ha, sa := turn(a)
		hb, sb := turn(b)
		c := cmp.Or(cmp.Compare(ha, hb), cmp.Compare(sa, sb))
		if c == 0 && o.q.Prefer == "wide" {
			c = cmp.Compare(b.shape.Need.Cores, a.shape.Need.Cores)
		}
		if c == 0 {
			c = cmp.Compare(a.job.Place, b.job.Place)
		}
		if c == 0 && a.remote != b.remote {
			c = 1
			if b.remote {
				c = -1
			}
		}
		return cmp.Or(c, cmp.Compare(a.job.Low, b.job.Low))
	})
	return best.job.Low
}

// Every decision is the one of a reader of sharing.md who looks at everything.
func TestDecisionsAreTheOracles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range 4 {
			w.enqueue(t)
		}
		pull := func(t *rapid.T) {
			p := w.drawPull(t)
			most := p.Most
			q := w.site.Queues[p.Queue-1]
			left := job.RoomOf(p.Slot, q)
			for ; p.Most > 0; p.Most-- { // one at a time: it is the same, and each is compared
				o := newOracle(w.leader, p, left)
				want := o.decide()
				one := p
				one.Slot = job.Slot{Cores: left.Cores, MemoryMB: left.MemoryMB, DiskMB: left.DiskMB, WalltimeS: left.WalltimeS, Labels: p.Slot.Labels}
				if p.Slot.Cores == 0 && q.Cores == 0 {
					one.Slot.Cores = 0
				}
				d := o.m.decideIn(one, left)
				got := int64(0)
				if len(d) > 0 {
					got = d[0].(entry.Granted).Job
				}
				if got != want {
					t.Fatalf("pull %+v of %d, room %+v: job %d, want %d", p, most, left, got, want)
				}
				if got == 0 {
					return
				}
				if err := w.follower.Apply(d[0]); err != nil {
					t.Fatal(err)
				}
				left = left.Without(w.leader.words.shapes[d[0].(entry.Granted).Shape].Need)
			}
		}
		t.Repeat(w.verbs(map[string]func(*rapid.T){"enqueue": w.enqueue, "enqueue more": w.enqueue, "pull": pull, "pull again": pull, "pull more": pull, "end": w.end,
			"end more": w.end, "expect": w.expect, "tick": w.tick, "bound": w.bound, "adopt": w.adopt}))
	})
}

// The same where jobs hold claims: no sort is believed, every job is asked.
func TestDecisionsWithClaimsAreTheOracles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newClaimWorld(t, false)
		submit := w.claimTask(false)
		for range 3 {
			submit(t)
		}
		pull := func(t *rapid.T) {
			p := drawClaimPull(w, t)
			p.Most = 1
			left := job.RoomOf(p.Slot, w.site.Queues[p.Queue-1])
			want, got := newOracle(w.leader, p, left).decide(), int64(0)
			d := w.decide(t, p)
			for _, e := range d.Entries {
				if g, ok := e.(entry.Granted); ok {
					got = g.Job
				}
			}
			if got != want {
				t.Fatalf("pull %+v: job %d, want %d", p, got, want)
			}
		}
		t.Repeat(map[string]func(*rapid.T){"submit": submit, "enqueue": w.enqueue, "pull": pull, "pull again": pull, "pull more": pull, "ends": w.ends, "end": w.ends,
			"cancel": w.cancel, "scale away": w.scaleAway, "outside": w.outside, "tick": w.tick, "bound": w.bound, "adopt": w.adopt,
			"pause": w.pauseClaims, "come back": w.comeBack})
	})
}

// decideIn makes one decision with the room that is left of a slot.
func (m *Machine) decideIn(p Pull, left job.Room) []entry.Entry {
	var d Decision
	m.supplies.Moment = m.now
	r := round{state: m.state, pull: &p, queue: m.site.Queues[p.Queue], left: left, most: p.Most, nth: []int{0}, decision: &d}
	found, verdict := r.decide()
	if verdict != Given {
		return nil
	}
	r.give(0, found, r.offer())
	return d.Entries
}
