package dispatcher

import (
	"strings"

	"github.com/divvyhq/divvy/shares"
)

// policy is which leaves the queues with the same allow_shares and deny_shares run. A queue without either has none.
type policy struct {
	number uint32 // from 1
	closed []bool // by node: a leaf whose jobs they do not run
}

// adoptPolicies finds which leaves each queue runs. Who may run a job is its shape's business and, beside that, only this.
func (s *state) adoptPolicies() {
	s.policies = map[string]*policy{}
	for _, q := range s.queues {
		if q.policy = nil; len(q.AllowShares) == 0 && len(q.DenyShares) == 0 {
			continue
		}
		key := strings.Join(q.AllowShares, "\n") + "\n\n" + strings.Join(q.DenyShares, "\n")
		p := s.policies[key]
		if p == nil {
			p = &policy{number: uint32(len(s.policies) + 1), closed: make([]bool, len(s.version.Tree.Nodes))}
			for _, leaf := range s.version.Tree.Leaves() {
				p.closed[leaf] = !q.Runs(s.version.Tree.Nodes[leaf].Path)
			}
			s.policies[key] = p
		}
		q.policy = p
	}
}

// admits says whether jobs of a leaf may run where the policy is in force; nil: everywhere.
func (p *policy) admits(leaf int) bool { return p == nil || !p.closed[leaf] }

// key tells policies apart; 0: none.
func (p *policy) key() uint32 {
	if p == nil {
		return 0
	}
	return p.number
}

// mayRun says whether the queue at a position may run jobs of an outline that a leaf has.
func (s *state) mayRun(at, leaf int, o *outline) bool {
	return at < len(o.queues) && o.queues[at] && s.queues[s.version.Queues[at].ID].policy.admits(leaf)
}

// powerAt is the power of the strongest queue of a pool that may run jobs of an outline for a leaf; 0: none may.
func (s *state) powerAt(leaf int, o *outline, p *pool) (most shares.Units) {
	if len(s.policies) == 0 {
		return o.power[p.name]
	}
	for i, q := range s.version.Queues {
		if q.Pool == p.name && s.mayRun(i, leaf, o) {
			most = max(most, shares.Units(q.CorePowerMilli))
		}
	}
	return most
}

// pilotsFor is how many of the queues that may run a window's jobs pilots asked at lately; most is where it stops to count.
func (s *state) pilotsFor(w *window, most int) (n int) {
	if len(s.policies) == 0 || w.leaf < 0 {
		return w.shape.pilots
	}
	for i := range s.version.Queues {
		if s.mayRun(i, w.leaf, w.shape.outline) && s.queues[s.version.Queues[i].ID].asked() {
			if n++; n == most {
				break
			}
		}
	}
	return n
}
