package dispatcher

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/machine"
)

// eye looks at the machine of this daemon.
type eye struct {
	loop *lease.Loop

	news          atomic.Int64 // the newest batch with more than a Tick
	told          func()       // of news, and that the tables have it
	made, granted atomic.Int64 // jobs, since this daemon began
}

// machine has a function look at the machine, between two steps of the loop, which waits for it. ErrUnavailable while there is none.
func (e *eye) machine(ctx context.Context, look func(*machine.Machine)) error {
	err := e.loop.See(ctx, func(m lease.Machine) {
		if mm, ok := m.(*machine.Machine); ok {
			look(mm)
		}
	})
	switch {
	case errors.Is(err, lease.ErrAway):
		return ErrUnavailable
	case errors.Is(err, lease.ErrStopped):
		return ErrStopping
	}
	return err
}

// view calls a function with the machine.
func (e *eye) view(ctx context.Context, look func(machine.View)) error {
	return e.machine(ctx, func(m *machine.Machine) { look(m.View()) })
}

// seeWithin bounds a look without a context.
const seeWithin = 5 * time.Second

// watch has a function look at the node. A daemon that stops does not let it.
func (e *eye) watch(look func(*lease.Node)) {
	ctx, cancel := context.WithTimeout(context.Background(), seeWithin)
	defer cancel()
	_ = e.loop.Watch(ctx, look)
}

// leads reports whether this daemon leads, as far as it knows.
func (e *eye) leads() (is bool) {
	e.watch(func(n *lease.Node) { is = n.Leads() })
	return is
}

// leader is the daemon that leads, as far as this one knows; 0: none is known.
func (e *eye) leader() (daemon int64) {
	e.watch(func(n *lease.Node) { daemon = n.Leader() })
	return daemon
}

// has says whether the machine has a batch.
func (e *eye) has(ctx context.Context, seq int64) (is bool) {
	_ = e.machine(ctx, func(m *machine.Machine) { // without one it has not
		at, _ := m.Stand()
		is = at >= seq
	})
	return is
}

// tip is the newest batch that the machine has. ErrUnavailable while there is no machine.
func (e *eye) tip(ctx context.Context) (p fold.Position, err error) {
	err = ErrUnavailable
	if failed := e.loop.Watch(ctx, func(n *lease.Node) {
		if m, _ := n.Machine(); m != nil {
			p.Seq, p.ID = m.Stand()
			p.At, err = n.At(), nil
		}
	}); failed != nil {
		return p, failed
	}
	return p, err
}

// heard is lease.Config's.
func (e *eye) heard(b entry.Batch) {
	for _, one := range b.Entries {
		switch one.(type) {
		case entry.Tick, entry.Stood:
		default:
			e.news.Store(b.Seq)
		}
		switch one := one.(type) {
		case entry.Enqueued:
			if one.Attempt == 1 {
				e.made.Add(one.High - one.Low + 1)
			}
		case entry.Granted:
			e.granted.Add(1)
		}
	}
	if e.news.Load() == b.Seq {
		e.told()
	}
}
