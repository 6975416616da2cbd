package dispatcher

import (
	"context"
	"sync"
	"time"
)

// gatherer turns calls that come at the same time into one statement: while a batch is in the database the next
// one gathers. No timer delays a lone call.
type gatherer[In, Out any] struct {
	do   func(ctx context.Context, worker int, in []In) ([]Out, error) // one Out per In, same order
	tend func(ctx context.Context, worker int) (again bool)            // between batches; nil: nothing to do
	wake chan struct{}

	mu     sync.Mutex
	calls  []*call[In, Out]
	closed bool
}

type call[In, Out any] struct {
	in   []In
	out  []Out
	err  error
	done chan struct{}
}

// mostGathered bounds the items of a batch; a single call may have more.
const mostGathered = 1000

func newGatherer[In, Out any](do func(context.Context, int, []In) ([]Out, error), workers int) *gatherer[In, Out] {
	return &gatherer[In, Out]{do: do, wake: make(chan struct{}, workers)}
}

// call adds the items to the next batch and waits for their results.
func (g *gatherer[In, Out]) call(ctx context.Context, in []In) ([]Out, error) {
	if len(in) == 0 {
		return nil, nil
	}
	c := &call[In, Out]{in: in, done: make(chan struct{})}
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return nil, ErrStopping
	}
	g.calls = append(g.calls, c)
	g.mu.Unlock()
	g.kick()
	select {
	case <-c.done:
		return c.out, c.err
	case <-ctx.Done():
		return nil, ctx.Err() // the batch goes on: ends and renewals are idempotent
	}
}

func (g *gatherer[In, Out]) kick() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// run is one worker. When ctx is done it serves what has gathered and refuses the rest.
func (g *gatherer[In, Out]) run(ctx context.Context, worker int) {
	for {
		var tend <-chan time.Time
		if g.tend != nil && g.tend(ctx, worker) {
			tend = time.After(tendPause)
		}
		select {
		case <-g.wake:
			g.serve(ctx, worker)
		case <-tend:
		case <-ctx.Done():
			g.mu.Lock()
			g.closed = true
			g.mu.Unlock()
			g.serve(ctx, worker)
			return
		}
	}
}

func (g *gatherer[In, Out]) serve(ctx context.Context, worker int) {
	for {
		calls := g.take()
		if len(calls) == 0 {
			return
		}
		var in []In
		for _, c := range calls {
			in = append(in, c.in...)
		}
		out, err := g.do(context.WithoutCancel(ctx), worker, in)
		for _, c := range calls {
			if c.err = err; err == nil {
				c.out, out = out[:len(c.in):len(c.in)], out[len(c.in):]
			}
			close(c.done)
		}
	}
}

func (g *gatherer[In, Out]) take() (calls []*call[In, Out]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for len(g.calls) > 0 && (n == 0 || n+len(g.calls[0].in) <= mostGathered) {
		n += len(g.calls[0].in)
		calls = append(calls, g.calls[0])
		g.calls = g.calls[1:]
	}
	if len(g.calls) > 0 {
		g.kick() // another worker may take the rest
	}
	return calls
}
