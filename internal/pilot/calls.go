package pilot

import (
	"context"
	"sync"
)

// calls run beside the loop and post to it what came of them.
type calls struct {
	ctx    context.Context // ends with the loop
	cancel context.CancelFunc
	all    *sync.WaitGroup
	posts  chan func()
	gone   chan struct{} // closed when posts are no longer accepted
}

func newCalls() calls {
	ctx, cancel := context.WithCancel(context.Background())
	return calls{ctx: ctx, cancel: cancel, all: &sync.WaitGroup{}, posts: make(chan func()), gone: make(chan struct{})}
}

// beside runs f beside the loop; end waits for it.
func (c *calls) beside(f func()) { c.all.Go(f) }

// post hands f to the loop. Nothing is posted that the loop does not wait for, except at its very end.
func (c *calls) post(f func()) {
	select {
	case c.posts <- f:
	case <-c.gone:
	}
}

// takePosts runs what else was posted, so that results that come together are sent together.
func (c *calls) takePosts() {
	for {
		select {
		case f := <-c.posts:
			f()
		default:
			return
		}
	}
}

// end is the end of the loop.
func (c *calls) end() {
	c.cancel()
	close(c.gone)
	c.all.Wait()
}
