package machine

import (
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/dispatcher/running"
	"github.com/divvyhq/divvy/shares"
)

// state is what the log says, and what decisions derive from it.
type state struct {
	// From the log alone.
	now     time.Time
	site    *books.Site
	words   *words // shapes
	ready   *ready.Set
	aside   *ready.Aside // jobs that are paused or wait
	buffers map[ready.Key]*buffer
	leases  *running.Leases
	held    books.Held
	served  *books.Servings
	claims  *gate.Claims
	sorts   *sorts
	elders  ready.Ages
	holes   books.Holes

	// Derived, or not in the log.
	leaves   []leaf // by node of the tree
	dirty    []int  // leaves whose want must be computed before the next decision
	kinds    *kinds
	supplies *supplies
	making   making
	eased    uint64
	settings Config
}

func newState(c Config) *state {
	s := &state{ready: ready.NewSet(), aside: ready.NewAside(), buffers: map[ready.Key]*buffer{}, leases: running.New(), held: books.Held{},
		served: &books.Servings{}, claims: gate.NewClaims(), making: making{pause: c.Making}, settings: c, holes: books.Holes{}}
	s.sorts = &sorts{state: s, nodes: gate.NewNodes(c.GangHold)}
	s.words = &words{state: s, shapes: map[int32]*shape{}, outlines: map[string]*outline{}, variants: map[variantKey]*shape{}, bySort: map[string][]*shape{}}
	s.kinds, s.supplies = &kinds{state: s}, &supplies{Supplies: &gate.Supplies{}, state: s, polled: map[shares.QueueID]bool{}}
	return s
}

// leaf is the part of a tree's leaf that depends on queues and shapes.
type leaf struct {
	groups []*group                  // by outline
	work   []*books.Work             // of the groups
	mine   map[*books.User][]*buffer // by user, if the leaf gives turns to users
	users  *books.Users              // nil: the leaf gives jobs by order key and age alone
	dirty  bool
	reach  map[*books.Pool]*books.Reach
}

// reachIn returns the queues of a pool that the leaf's jobs could use.
func (l *leaf) reachIn(p *books.Pool) *books.Reach {
	r := l.reach[p]
	if r == nil {
		r = &books.Reach{}
		if l.reach == nil {
			l.reach = map[*books.Pool]*books.Reach{}
		}
		l.reach[p] = r
	}
	return r
}

// touch marks a leaf whose want has changed. With reachToo the set of its active shapes may have changed, too.
func (s *state) touch(node int, reachToo bool) {
	l := &s.leaves[node]
	if reachToo {
		for _, r := range l.reach {
			r.Forget()
		}
	}
	if !l.dirty {
		l.dirty = true
		s.dirty = append(s.dirty, node)
	}
}

// settle brings the want of every touched leaf up to date.
func (s *state) settle() {
	for _, node := range s.dirty {
		l := &s.leaves[node]
		l.dirty = false
		for _, p := range s.site.Pools {
			p.Book.SetWant(node, l.reachIn(p).Want(s.site, p, node, l.work, s.held))
			p.Demanded(node)
		}
	}
	s.dirty = s.dirty[:0]
}

// tick advances the clock, and reports whether the time is later. The clock of a log never goes back.
func (s *state) tick(e entry.Tick) (later bool) {
	if !e.Now.After(s.now) {
		return false
	}
	if !s.now.IsZero() {
		s.settle()
		s.site.Remember(e.Offered, e.Now.Sub(s.now))
	}
	was := s.now
	s.now = e.Now
	s.elders.Look(s.now, s.settings.LocalWait)
	if s.supplies.Look(s.now) || s.holes.Eased(was, s.now) {
		s.eased++
	}
	s.site.Forgive(s.now)
	if s.site.Due(s.now) {
		s.adopt(s.site.Source)
	}
	return true
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// adopt puts a version of the site in force, with the plans of this moment. Ready jobs and held units stay.
func (s *state) adopt(from books.Source) {
	stood := s.site.Stood(nil)
	s.served.RememberServed()
	s.build(from)
	s.site.Remind(stood)
}

// build derives everything that depends on the version.
func (s *state) build(from books.Source) {
	s.site = books.New(from, s.now, s.kinds.unbar)
	s.supplies.Adopt(s.site.Version)
	for _, sh := range s.words.shapes {
		if sh.headed {
			s.supplies.resolve(sh)
		}
	}
	s.leaves, s.dirty = make([]leaf, len(s.site.Version.Tree.Nodes)), s.dirty[:0]
	s.adoptUsers()
	s.kinds.forgetKinds()
	s.making.passed = nil
	s.sorts.bays, s.sorts.open = map[resource.Place][]*buffer{}, map[*buffer]struct{}{}
	s.words.at, s.words.guestsAt = make([][]*outline, len(from.File.Queues)), make([][]*outline, len(from.File.Queues))
	for _, o := range slices.Concat(s.words.byAt, s.words.guests) {
		s.words.place(o)
	}
	for each := range s.ready.Buffers() {
		if b := s.buffers[each.Key()]; b != nil {
			s.hang(b)
		}
	}
	for share, held := range s.held {
		for key, h := range held {
			s.book(share, key, *h)
		}
	}
	for _, c := range s.claims.Charged() {
		if q := s.site.Queues[c.Queue]; q != nil {
			s.supplies.Charge(c, &q.Queue)
		}
	}
	s.sorts.sweep()
	s.eased++
}
