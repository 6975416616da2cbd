package dispatcher

import (
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// state is what a daemon knows: the ledger folded up to what it has read, its own grants in flight, and the
// windows. It is guarded by Dispatcher.mu; nothing in this file touches the database.
type state struct {
	version  shares.Version
	plans    plans
	targets  []targetRow // limits and floors that are in force
	epoch    int64
	queues   map[shares.QueueID]*queue
	byName   map[string]*queue
	pools    map[string]*pool
	limits   map[limitKey]*limit
	shapes   map[int32]*shape
	windows  map[windowKey]*window
	leaves   []leaf // by node of the tree
	held     map[shares.ShareID]map[heldKey]*heldCount
	dirty    []int            // leaves whose want must be computed before the next decision
	inflight map[int64]*grant // jobs granted and not committed
	sample   sampler          // which decisions are recorded
	diary    diary            // what is counted, in its order
	slice    slice            // of every window

	byAt       []*outline             // by outline.at
	ofNodes    []*outline             // those that one node can run only, which have no number
	sums       []*outline             // of these, see sumOf
	outlines   map[string]*outline    // by their requirements
	contenders map[string]*contenders // by what makes the kind of slot
	nKinds     int64                  // of slots that there were
	nOpen      int                    // leaves with a window that has something to give
	narrows    narrows                // of pulls that take jobs of one task or user
	supplies   supplies               // of resources
	claims     claims
	gangs      gangs
	moment     time.Time        // of the present decision, where there are some
	clock      func() time.Time // nil: the host's

	memory     map[memoryKey]memory // of shares, up to the last adoption
	remembered time.Time            // up to when the pools have counted what shares miss

	scratch struct { // of contendersFor, and of records
		shapes bits
		near   []*outline
		key    []byte
		trail  []float64
		leaves []int
	}
}

// shape is an interned set of requirements, with what the present version makes of it.
type shape struct {
	*outline
	id   int32
	full Requirements  // with its resources
	asks []resourceAsk // for them, and for those that its claims will take
	lot  string        // what it asks for, in one way to write it

	holds []resourceAsk // what it holds with a lease: its own resources

	unknown bool // it asks for what the site does not have
	byQueue bool // it asks for something of which every queue has units of its own
}

// queue is a queue of the present version with what runs there.
type queue struct {
	shares.Queue
	pos       int
	pool      *pool
	limit     *limit
	targets   []*target // target slots
	floors    []*target
	outlines  []*outline // of jobs that may run here
	bound     []*outline // of those that may run at one of its nodes only
	heldCores int64
	heldJobs  int64
	pilots    map[string]seen
	elsewhere bool // pilots asked another daemon lately
}

// seen is a pilot's last pull: when, and what it offered that was not filled.
type seen struct {
	at       time.Time
	unfilled shares.Units
	only     *Only // nil: it takes any job
	node     string
	devices  []string // of its node
}

// pool is a resource group: the tree's standing in it.
type pool struct {
	name        string
	book        *shares.Pool
	capacity    shares.Units // C of the online queues
	heldOffline shares.Units // held at queues that are not online; runs out beside C
	limit       *limit
	pathLimits  [][]*limit        // by leaf node: limits of its path
	lag         []float64         // by node: what it missed, see memory
	owed        owed              // to whom units were reclaimed
	skipped     shares.Contenders // of the record that is being made; else empty
	below       shares.Contenders // of the floor that is being looked at; else empty
	lends       bool              // there are limits of lending or borrowing
	demand      []shares.Units    // by leaf node, as lending last saw it
	eased       uint64            // rises when lending may admit what it has refused
	lastGrant   []int64           // by leaf node: the decision that last granted it something; 0: none did
}

// leaf is the part of a tree's leaf that depends on queues and shapes.
type leaf struct {
	windows []*window
	groups  []*group // of them, by outline; those of one node are in near, and counted together here
	near    map[*outline]*group
	nOpen   int // of them
	dirty   bool
	reach   map[*pool]*reach
}

// reach is which queues of a pool the leaf's jobs could use: their demand is bounded by it.
type reach struct {
	queues  []bool // by position
	cap     shares.Units
	bounded bool
	held    shares.Units // of this leaf at those queues
	targets bool         // one of them has target slots
	classes [nClasses]classReach
	stale   bool
}

// classReach is the same of the jobs of one class, where there are target slots.
type classReach struct {
	queues  []bool
	cap     shares.Units
	bounded bool
	held    shares.Units
}

type heldKey struct {
	share shares.ShareID
	shape int32
	queue shares.QueueID
}

type heldCount struct {
	jobs  int64
	units shares.Units
}

func newState() *state {
	return &state{shapes: map[int32]*shape{}, outlines: map[string]*outline{}, windows: map[windowKey]*window{}, held: map[shares.ShareID]map[heldKey]*heldCount{},
		limits: map[limitKey]*limit{}, inflight: map[int64]*grant{}, memory: map[memoryKey]memory{}, contenders: map[string]*contenders{}, narrows: newNarrows(), claims: newClaims(), gangs: newGangs()}
}

// adopt builds everything that follows from the site version; counts and windows stay.
func (s *state) adopt(v shares.Version, epoch int64, limits map[limitKey]*limit) {
	maps.Copy(s.memory, s.memories())
	s.version, s.epoch, s.limits = v, epoch, limits
	old := s.queues
	s.queues, s.byName, s.pools = map[shares.QueueID]*queue{}, map[string]*queue{}, map[string]*pool{}
	for name, c := range capacities(v.Queues) {
		p := &pool{name: name, book: shares.NewPool(v.Tree, name), capacity: c, limit: limits[poolLimit(name)], lastGrant: make([]int64, len(v.Tree.Nodes))}
		p.book.SetCapacity(p.full())
		p.lends, p.demand = p.book.Lends(), make([]shares.Units, len(v.Tree.Nodes))
		p.lag = make([]float64, len(v.Tree.Nodes))
		p.pathLimits = pathLimits(v.Tree, name, limits)
		s.pools[name] = p
	}
	s.recall(s.memory)
	for i, q := range v.Queues {
		entry := &queue{Queue: q, pos: i, pool: s.pools[q.Pool], limit: limits[queueLimit(q.ID)], pilots: map[string]seen{}}
		if before := old[q.ID]; before != nil {
			entry.pilots, entry.elsewhere = before.pilots, before.elsewhere
		}
		s.queues[q.ID], s.byName[q.Name] = entry, entry
	}
	s.hangTargets(limits)
	s.adoptSupplies()
	// Nodes of the former tree are no nodes of this one, and no limit is the one that it was.
	s.leaves, s.dirty, s.nOpen = make([]leaf, len(v.Tree.Nodes)), s.dirty[:0], 0
	s.forgetContenders()
	for _, sum := range s.sums {
		sum.queues, sum.power = nil, nil
	}
	for _, o := range slices.Concat(s.byAt, s.ofNodes) {
		s.place(o)
	}
	for _, w := range s.windows {
		s.hang(w)
	}
	for _, of := range s.held {
		for key, h := range of {
			s.book(key, h.jobs, h.units)
		}
	}
}

func pathLimits(t *shares.Tree, pool string, limits map[limitKey]*limit) [][]*limit {
	of := make([][]*limit, len(t.Nodes))
	for i, n := range t.Nodes { // parents come first
		if n.Parent >= 0 {
			of[i] = append(of[i], of[n.Parent]...)
		}
		if l := limits[shareLimit(n.ID, pool)]; l != nil {
			of[i] = append(of[i], l)
		}
	}
	return of
}

// know adds a shape.
func (s *state) know(id int32, need Requirements) {
	sh := &shape{outline: s.outlineOf(need, id), id: id, full: need, holds: asksOf(need.Resources)}
	switch {
	case need.charges(): // no job is of it
	case need.Claims != nil && len(need.Claims.Resources) > 0:
		sh.asks = asksOf(unitsWith(need.Resources, need.Claims.Resources))
	default:
		sh.asks = sh.holds
	}
	s.shapes[id] = sh
	if sh.asks != nil || sh.holds != nil {
		sh.lot = lotOf(sh.asks)
		sh.shapes = append(sh.shapes, sh)
		s.resolve(sh)
	}
}

// hang ties a window to its leaf and its shape.
func (s *state) hang(w *window) {
	w.opened = false
	node, ok := s.version.Tree.ByID(w.key.share)
	if !ok || !s.version.Tree.Leaf(node) {
		w.leaf, w.group = -1, nil
		return
	}
	w.leaf, w.group, w.waits = node, s.group(node, w.shape.outline), 0
	w.recountWaits()
	w.bundles, w.asked = nil, 0
	if w.shape.asks == nil {
		w.group.plain = w
	}
	s.recountWanted(w, false)
	s.leaves[node].windows = append(s.leaves[node].windows, w)
	w.shape.windows = append(w.shape.windows, w)
	s.touch(node, true)
	s.check(w)
}

// window finds or makes the window of a (share, shape); nil when the shape is not known yet.
func (s *state) window(key windowKey) *window {
	w := s.windows[key]
	if w == nil {
		sh := s.shapes[key.shape]
		if sh == nil {
			return nil
		}
		w = newWindow(key, sh)
		w.slice = s.slice
		s.windows[key] = w
		s.hang(w)
	}
	return w
}

// touch marks a leaf whose want has changed; reach too when the set of its active shapes may have.
func (s *state) touch(node int, reachToo bool) {
	l := &s.leaves[node]
	if reachToo {
		for _, r := range l.reach {
			r.stale = true
		}
	}
	if !l.dirty {
		l.dirty = true
		s.dirty = append(s.dirty, node)
	}
}

// apply counts a move. own is true for moves of this daemon's lanes: only they spend this daemon's escrow.
func (s *state) apply(m move, own bool) {
	key := windowKey{m.Share, m.Shape}
	switch { // before what waits: a resource is told of a grant while its job still counts as one that waits
	case m.Before == isLeased && m.After != isLeased:
		s.hold(m, -1, own)
	case m.After == isLeased && m.Before != isLeased:
		s.hold(m, +1, own)
	}
	if m.After != isLeased && len(s.gangs.tasks) > 0 { // a gang that starts is not pending any more; others are as they were
		s.gangs.moved(m.Task, s.shapes[m.Shape])
	}
	if m.Before == isReady || m.After == isReady {
		s.narrows.moved(m)
		if w := s.window(key); w != nil {
			s.applyReady(w, m)
		}
	}
}

func (s *state) applyReady(w *window, m move) {
	was := w.groupWaits()
	if m.Before == isReady {
		w.ready -= int64(m.N)
	}
	if m.Before == isReady && m.After != isLeased && m.High > 0 {
		w.withdraw(span{m.Place, m.Low, m.High})
	}
	if m.After == isReady {
		w.ready += int64(m.N)
		if m.High > 0 {
			w.announce(span{m.Place, m.Low, m.High})
		}
	}
	if m.After == isLeased {
		w.starts.add(float64(m.N))
	}
	w.recountWaits()
	s.recountWanted(w, m.After == isLeased)
	if w.leaf >= 0 {
		s.touch(w.leaf, (was > 0) != (w.groupWaits() > 0))
	}
	s.check(w)
}

func (s *state) hold(m move, sign int64, own bool) {
	key := heldKey{m.Share, m.Shape, m.Queue}
	of := s.held[m.Share]
	if of == nil {
		of = map[heldKey]*heldCount{}
		s.held[m.Share] = of
	}
	h := of[key]
	if h == nil {
		h = &heldCount{}
		of[key] = h
	}
	jobs, units := sign*int64(m.N), shares.Units(sign)*m.Units
	h.jobs += jobs
	h.units += units
	if h.jobs == 0 && h.units == 0 {
		delete(of, key)
	}
	s.book(key, jobs, units)
	if own {
		s.spend(key, jobs, units)
	}
}

// book counts held units at queue, pool and leaf.
func (s *state) book(key heldKey, jobs int64, units shares.Units) {
	q := s.queues[key.queue]
	if q == nil {
		return
	}
	if sh := s.shapes[key.shape]; sh != nil && !sh.need.charges() {
		q.heldJobs += jobs
		q.heldCores += jobs * int64(sh.need.Cores)
	}
	s.holdTargets(q, key, jobs)
	s.holdResources(q, key, jobs)
	if q.State != shares.Online {
		q.pool.heldOffline += units
		q.pool.book.SetCapacity(q.pool.full())
	}
	node, ok := s.version.Tree.ByID(key.share)
	if !ok || !s.version.Tree.Leaf(node) {
		return
	}
	q.pool.book.Hold(node, units)
	if units < 0 {
		q.pool.eased++
	}
	if r := s.leaves[node].reach[q.pool]; r != nil && !r.stale && r.queues[q.pos] {
		r.hold(q, s.shapes[key.shape], units)
	}
	s.touch(node, false)
}

// spend charges this daemon's escrow. A credit on a limit in debt is returned by the escrow step.
func (s *state) spend(key heldKey, jobs int64, units shares.Units) {
	q := s.queues[key.queue]
	if q == nil {
		return
	}
	if q.limit != nil {
		q.limit.spent += shares.Units(jobs*int64(s.shapes[key.shape].need.Cores)) * 1000
	}
	s.spendTargets(q, key, jobs)
	s.spendResources(q, key, jobs)
	if l := q.pool.limit; l != nil && q.State == shares.Online {
		l.spent += units
	}
	if node, ok := s.version.Tree.ByID(key.share); ok {
		for _, l := range q.pool.pathLimits[node] {
			l.spent += units
			if units < 0 {
				l.ease()
			}
		}
	}
}

// settle brings the want of every touched leaf up to date.
func (s *state) settle() {
	for _, node := range s.dirty {
		s.leaves[node].dirty = false
		for _, p := range s.pools {
			p.book.SetWant(node, s.want(node, p))
			if p.lends {
				p.demanded(node)
			}
		}
	}
	s.dirty = s.dirty[:0]
}

// want is what a leaf could use in a pool beyond what it holds: units of its ready and coming jobs, within the
// slots of the queues that could run them.
func (s *state) want(node int, p *pool) shares.Units {
	l := &s.leaves[node]
	r := l.reach[p]
	if r == nil {
		r = &reach{stale: true}
		if l.reach == nil {
			l.reach = map[*pool]*reach{}
		}
		l.reach[p] = r
	}
	if r.stale {
		s.measure(node, p, r)
	}
	var of [nClasses]shares.Units
	for _, g := range l.groups {
		if g.waits > 0 {
			of[g.outline.classAt] += shares.Units(g.waits*int64(g.outline.need.Cores)) * g.outline.power[p.name]
		}
	}
	var want shares.Units
	for class, units := range of {
		if c := &r.classes[class]; c.bounded {
			units = min(units, max(0, c.cap-c.held))
		}
		want += units
	}
	if r.bounded {
		want = min(want, max(0, r.cap-r.held))
	}
	return want
}

func (s *state) measure(node int, p *pool, r *reach) {
	*r = reach{queues: make([]bool, len(s.version.Queues)), bounded: true}
	for _, g := range s.leaves[node].groups {
		if g.waits <= 0 {
			continue
		}
		for i, ok := range g.outline.queues {
			r.queues[i] = r.queues[i] || ok && s.version.Queues[i].Pool == p.name
		}
	}
	for i, in := range r.queues {
		if !in {
			continue
		}
		q := s.queues[s.version.Queues[i].ID]
		r.targets = r.targets || len(q.targets) > 0
		u, limited := s.mostAt(q, s.version.Tree.Nodes[node].ID, "")
		r.bounded = r.bounded && limited
		r.cap += u
	}
	if r.targets {
		s.measureClasses(node, r)
	}
	id := s.version.Tree.Nodes[node].ID
	for key, h := range s.held[id] {
		if q := s.queues[key.queue]; q != nil && r.queues[q.pos] {
			r.hold(q, s.shapes[key.shape], h.units)
		}
	}
}

// measureClasses is measure for the jobs of each class by itself.
func (s *state) measureClasses(node int, r *reach) {
	for _, g := range s.leaves[node].groups {
		if g.waits <= 0 {
			continue
		}
		c := &r.classes[g.outline.classAt]
		if c.queues == nil {
			c.queues, c.bounded = make([]bool, len(r.queues)), true
		}
		for i, fits := range g.outline.queues {
			if !fits || !r.queues[i] || c.queues[i] {
				continue
			}
			u, limited := s.mostAt(s.queues[s.version.Queues[i].ID], s.version.Tree.Nodes[node].ID, g.outline.class)
			c.queues[i], c.bounded = true, c.bounded && limited
			c.cap += u
		}
	}
}

// hold counts what the leaf holds at one of the queues.
func (r *reach) hold(q *queue, sh *shape, units shares.Units) {
	r.held += units
	if sh == nil || !r.targets {
		return
	}
	if c := &r.classes[sh.classAt]; c.queues != nil && c.queues[q.pos] {
		c.held += units
	}
}
