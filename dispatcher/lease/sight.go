package lease

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/tally"
)

// sight is a look at the Node that waits for its turn.
type sight struct {
	see  func(*Node)
	done chan struct{}
}

// Watch has a function look at the Node between two steps, when nothing changes, and returns after it. The function is quick, for all else waits
// meanwhile, and keeps nothing of the Node.
func (l *Loop) Watch(ctx context.Context, see func(*Node)) error {
	s := &sight{see, make(chan struct{})}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrStopped
	}
	l.sights = append(l.sights, s)
	l.mu.Unlock()
	l.wake()
	var err error
	select {
	case <-s.done:
		return nil
	case <-l.done:
		err = ErrStopped
	case <-ctx.Done():
		err = ctx.Err()
	}
	l.mu.Lock()
	i := slices.Index(l.sights, s)
	if i >= 0 {
		l.sights = slices.Delete(l.sights, i, i+1)
	}
	l.mu.Unlock()
	if i < 0 && !errors.Is(err, ErrStopped) { // it looks by now
		<-s.done
		return nil
	}
	return err
}

// See has fn look at the machine as it stands. A leader's machine is ahead of the log by what is on its way there. ErrAway while the daemon reloads.
func (l *Loop) See(ctx context.Context, fn func(m Machine)) error {
	is := false
	err := l.Watch(ctx, func(n *Node) {
		if m, _ := n.Machine(); m != nil {
			fn(m)
			is = true
		}
	})
	if err == nil && !is {
		err = ErrAway
	}
	return err
}

// show lets all look who wait for it.
func (l *Loop) show() {
	l.mu.Lock()
	all := l.sights
	l.sights = nil
	l.mu.Unlock()
	for _, s := range all {
		s.see(l.node)
		close(s.done)
	}
}

// Counted is what this Node has counted since the last call. What it decided as leader counts, whether or not its append came to be.
func (n *Node) Counted() tally.Tally {
	t := n.counted
	n.counted = tally.Tally{}
	return t
}

// At is the time of the newest batch that the machine has.
func (n *Node) At() time.Time {
	if n.replica == nil {
		return time.Time{}
	}
	return n.replica.tip.at
}
