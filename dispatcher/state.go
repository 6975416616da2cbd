package dispatcher

import (
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/retry"
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

	byAt       []*outline          // by outline.at
	ofNodes    []*outline          // those that one node can run only, which have no number
	sums       []*outline          // of these, see sumOf
	outlines   map[string]*outline // by their requirements
	policies   map[string]*policy  // of queues, by what they say
	elders     elders
	turns      bool // some leaf gives turns to users, or some shape names one
	served     servings
	localWait  time.Duration          // how long jobs are remote
	contenders map[string]*contenders // by what makes the kind of slot
	nKinds     int64                  // of slots that there were
	nOpen      int                    // leaves with a window that has something to give
	narrows    narrows                // of pulls that take jobs of one task or user
	supplies   supplies               // of resources
	claims     claims
	gangs      gangs
	making     making
	moment     time.Time        // of the present decision, where there are some
	clock      func() time.Time // nil: the host's

	holes      map[shares.QueueID]*retry.Hole // queues that get a job now and then
	memory     map[memoryKey]memory           // of shares, up to the last adoption
	remembered time.Time                      // up to when the pools have counted what shares miss

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
	id    int32
	plain int32            // the same of anybody's jobs, where it names a user
	full  job.Requirements // with its resources
	asks  []resourceAsk    // for them, and for those that its claims will take
	lot   string           // what it asks for, in one way to write it

	headed bool // its windows are among heads: it asks for resources, or names a user

	holds []resourceAsk // what it holds with a lease: its own resources

	unknown bool // it asks for what the site does not have
	byQueue bool // it asks for something of which every queue has units of its own
	unsplit bool // nothing that it asks for is split over sharing IDs
}

// queue is a queue of the present version with what runs there.
type queue struct {
	shares.Queue
	pos       int
	pool      *pool
	limit     *limit
	policy    *policy   // which shares run here; nil: all
	targets   []*target // target slots
	floors    []*target
	outlines  []*outline // of jobs that may run here
	bound     []*outline // of those that may run at one of its nodes only
	heldCores int64
	heldJobs  int64
	pilots    map[string]seen
	kept      int  // bytes of pilots
	elsewhere bool // pilots asked another daemon lately
}

// seen is a pilot's last pull: when, and what it offered that was not filled.
type seen struct {
	at       time.Time
	unfilled shares.Units
	only     *job.Only // nil: it takes any job
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
	users   *users // nil: jobs are given by priority and age alone
	nOpen   int    // of them
	dirty   bool
	reach   map[*pool]*reach
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

// know adds a shape.
func (s *state) know(id int32, need job.Requirements) {
	sh := &shape{outline: s.outlineOf(need, id), id: id, full: need, holds: asksOf(need.Resources)}
	switch {
	case need.Charges(): // no job is of it
	case need.Claims != nil && len(need.Claims.Resources) > 0:
		sh.asks = asksOf(unitsWith(need.Resources, need.Claims.Resources))
	default:
		sh.asks = sh.holds
	}
	s.shapes[id] = sh
	sh.headed = sh.asks != nil || need.User != ""
	s.turns = s.turns || need.User != ""
	if sh.headed || sh.holds != nil {
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
		w.leaf, w.group, w.user = -1, nil, nil
		return
	}
	w.leaf, w.group, w.waits, w.coming = node, s.group(node, w.shape.outline), 0, 0
	w.recountWaits()
	w.bundles, w.asked = nil, 0
	if !w.shape.headed {
		w.group.plain = w
	}
	s.hangUser(w)
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

// has says whether a window is of this state. When a daemon starts anew those that were being read are nobody's any more, and
// their leaf may be another share's, or none.
func (s *state) has(w *window) bool { return s.windows[w.key] == w }

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
