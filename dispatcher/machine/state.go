package machine

import (
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/shares"
)

// state is what the log says, and what is worked out from it for decisions.
type state struct {
	// By the log alone.
	now     time.Time
	site    *site
	words   *words // shapes
	ready   *ready.Set
	buffers map[ready.Key]*buffer
	leases  *leases
	held    map[shares.ShareID]map[heldKey]*heldCount
	polled  map[shares.QueueID]bool
	served  *servings
	claims  *gate.Claims
	sorts   *sorts
	elders  elders

	// Worked out, or soft.
	leaves   []leaf // by node of the tree
	dirty    []int  // leaves whose want must be computed before the next decision
	kinds    *kinds
	supplies *supplies
	making   making
	eased    uint64
	settings Config
}

func newState(c Config) *state {
	s := &state{ready: ready.NewSet(), buffers: map[ready.Key]*buffer{}, leases: newLeases(), held: map[shares.ShareID]map[heldKey]*heldCount{},
		polled: map[shares.QueueID]bool{}, claims: gate.NewClaims(), making: making{pause: c.Making}, settings: c}
	s.sorts = &sorts{state: s, nodes: gate.NewNodes(c.GangHold)}
	s.words, s.kinds, s.served, s.supplies = newWords(s), &kinds{state: s}, &servings{state: s}, &supplies{Supplies: &gate.Supplies{}, state: s}
	return s
}

// leaf is the part of a tree's leaf that depends on queues and shapes.
type leaf struct {
	groups []*group // by outline
	users  *users   // nil: jobs are given by place and age alone
	dirty  bool
	reach  map[*pool]*reach
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

// settle brings the want of every touched leaf up to date.
func (s *state) settle() {
	for _, node := range s.dirty {
		s.leaves[node].dirty = false
		for _, p := range s.site.pools {
			p.book.SetWant(node, s.want(node, p))
			p.demanded(node)
		}
	}
	s.dirty = s.dirty[:0]
}

// tick lets time pass, if it is later. The clock of a log never falls.
func (s *state) tick(e entry.Tick) (later bool) {
	if !e.Now.After(s.now) {
		return false
	}
	s.remember(e)
	s.now = e.Now
	s.elders.look(s.now, s.settings.LocalWait)
	s.supplies.Look(s.now)
	if s.site.due(s.now) {
		s.adopt(s.site.file, s.site.targets)
	}
	return true
}
