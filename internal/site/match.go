package site

import "github.com/divvyhq/divvy/shares"

// liveShare is a share of the version in force.
type liveShare struct {
	ID   shares.ShareID
	Path string
	Leaf bool
}

// matcher finds which share of the version in force each share of a new tree is: the one that keeps its id.
// Nobody is taken for two, and who comes first takes:
//
//  1. ids that a rollback brings along;
//  2. was:, if it is news (see freshNames);
//  3. children, which follow their parent: under the path that it had;
//  4. the one that still has the path.
type matcher struct {
	tree   *shares.Tree
	byPath map[string]liveShare
	former []liveShare // by node; ID 0 = a new share
	taken  map[shares.ShareID]bool
}

func newMatcher(t *shares.Tree, live []liveShare) *matcher {
	m := &matcher{tree: t, byPath: make(map[string]liveShare, len(live)),
		former: make([]liveShare, len(t.Nodes)), taken: make(map[shares.ShareID]bool, len(live))}
	for _, l := range live {
		m.byPath[l.Path] = l
	}
	return m
}

// match returns the former self of every node. ids are those of a rollback, by path, or nil.
func (m *matcher) match(was map[string]string, ids map[string]shares.ShareID) []liveShare {
	byID := make(map[shares.ShareID]liveShare, len(m.byPath))
	for _, l := range m.byPath {
		byID[l.ID] = l
	}
	for i, n := range m.tree.Nodes {
		m.take(i, byID[ids[n.Path]])
	}
	for i, n := range m.tree.Nodes {
		if old, ok := was[n.Path]; ok {
			m.take(i, m.byPath[old])
		}
	}
	for i, n := range m.tree.Nodes {
		if n.Parent >= 0 {
			m.take(i, m.follow(n))
		}
	}
	for i, n := range m.tree.Nodes {
		m.take(i, m.byPath[n.Path])
	}
	return m.former
}

// follow is the share of this name under the former self of the node's parent.
func (m *matcher) follow(n shares.Node) liveShare {
	if n.Parent == 0 {
		return m.byPath[n.Name]
	}
	parent := m.former[n.Parent]
	if parent.ID == 0 {
		return liveShare{}
	}
	return m.byPath[parent.Path+"/"+n.Name]
}

func (m *matcher) take(node int, l liveShare) {
	if node == 0 || l.ID == 0 || m.former[node].ID != 0 || m.taken[l.ID] {
		return
	}
	m.former[node], m.taken[l.ID] = l, true
}

// freshNames keeps the was: entries that say something new. One that stood in the file before already has
// acted then; left in, it must not take a share that got the old name since.
func freshNames(was, before map[string]string) map[string]string {
	fresh := make(map[string]string, len(was))
	for path, old := range was {
		if before[path] != old {
			fresh[path] = old
		}
	}
	return fresh
}

// liveQueue is a queue of the version in force.
type liveQueue struct {
	ID    shares.QueueID
	Name  string
	State shares.QueueState
}

// matchQueues is match for queues, which have no parents.
func matchQueues(queues []shares.Queue, live []liveQueue, was map[string]string, ids map[string]shares.QueueID) []liveQueue {
	byName, byID := map[string]liveQueue{}, map[shares.QueueID]liveQueue{}
	for _, l := range live {
		byName[l.Name], byID[l.ID] = l, l
	}
	former, taken := make([]liveQueue, len(queues)), map[shares.QueueID]bool{}
	pass := func(self func(name string) liveQueue) {
		for i, q := range queues {
			if l := self(q.Name); l.ID != 0 && former[i].ID == 0 && !taken[l.ID] {
				former[i], taken[l.ID] = l, true
			}
		}
	}
	pass(func(name string) liveQueue { return byID[ids[name]] })
	pass(func(name string) liveQueue { return byName[was[name]] })
	pass(func(name string) liveQueue { return byName[name] })
	return former
}
