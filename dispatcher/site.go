package dispatcher

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// site is the version in force, as the loop last saw it.
type site struct{ now atomic.Pointer[index] }

// index finds what a version has. It never changes.
type index struct {
	version shares.Version
	queues  map[shares.QueueID]shares.Queue
	named   map[string]shares.Queue
}

// adopt takes over a version.
func (s *site) adopt(v *shares.Version) {
	if v == nil {
		return
	}
	x := &index{version: *v, queues: map[shares.QueueID]shares.Queue{}, named: map[string]shares.Queue{}}
	for _, q := range v.Queues {
		x.queues[q.ID], x.named[q.Name] = q, q
	}
	s.now.Store(x)
}

func (s *site) queue(id shares.QueueID) (q shares.Queue, ok bool) {
	if x := s.now.Load(); x != nil {
		q, ok = x.queues[id]
	}
	return q, ok
}

// named is a queue by its name, whatever its state.
func (s *site) named(name string) (q shares.Queue, err error) {
	x := s.now.Load()
	if x == nil {
		return q, ErrUnavailable // nothing is read yet
	}
	q, ok := x.named[name]
	if !ok {
		return q, fmt.Errorf("%w %q: the site has %s", ErrUnknownQueue, name, x.names())
	}
	return q, nil
}

// open is a queue by its name that takes jobs.
func (s *site) open(name string) (q shares.Queue, err error) {
	q, err = s.named(name)
	if err == nil && q.State != shares.Online && q.State != shares.Test {
		return q, ErrQueueClosed
	}
	return q, err
}

// names lists the queues for an error message.
func (x *index) names() string {
	if len(x.named) == 0 {
		return "no queues"
	}
	names := slices.Sorted(maps.Keys(x.named))
	if len(names) > 10 {
		names = append(names[:10], "…")
	}
	return strings.Join(names, ", ")
}

// version is the one in force, if it has that number.
func (s *site) version(number int64) *shares.Version {
	if x := s.now.Load(); x != nil && x.version.Number == number {
		return &x.version
	}
	return nil
}

// current is the version in force; nil: nothing is read yet.
func (s *site) current() *shares.Version {
	if x := s.now.Load(); x != nil {
		return &x.version
	}
	return nil
}

func (s *site) path(id shares.ShareID) string {
	if x := s.now.Load(); x != nil && x.version.Tree != nil {
		return pathOf(x.version.Tree, id)
	}
	return ""
}

// pathOf is that of a share; empty: there is none.
func pathOf(tree *shares.Tree, id shares.ShareID) string {
	if node, ok := tree.ByID(id); ok {
		return tree.Nodes[node].Path
	}
	return ""
}

// polled are the queues at which pilots pull, by the log. It is for the loop alone.
func polled(m lease.Machine) (list []shares.QueueID) {
	if mm, ok := m.(*machine.Machine); ok {
		v := mm.View()
		for _, q := range v.Site.Queues {
			if v.Queue(q.ID).Polled {
				list = append(list, q.ID)
			}
		}
	}
	return list
}
