package door

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// lane bounds the requests of one connection in time, one after the other. A context with a timeout for each would
// cost a timer, a place in the list of its parent and four allocations a request, nearly all of them for nothing:
// requests end long before. Here a request costs a store when it begins and one when it ends; one timer looks
// every now and then, and when it finds a request over its time, it cancels the context of the whole connection.
// That request is answered and the connection closed.
type lane struct {
	cancel context.CancelCauseFunc
	born   time.Time
	until  atomic.Int64  // end of the request's time since born; 0 = no request; cut = it was cancelled
	armed  atomic.Bool   // the timer runs
	step   time.Duration // how far ahead the timer is set at the most; not written while it runs
	timer  *time.Timer
}

const cut = -1

type laneKey struct{}

// WithLane is a ConnContext of http.Server.
func WithLane(ctx context.Context, _ net.Conn) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	l := &lane{cancel: cancel, born: time.Now()}
	l.timer = time.AfterFunc(time.Hour, l.look)
	l.timer.Stop()
	return context.WithValue(ctx, laneKey{}, l)
}

// begin gives the request that starts now so long. No request may get less than step, which is the same for all.
func (l *lane) begin(within, step time.Duration) {
	l.until.Store(int64(time.Since(l.born) + within))
	if l.armed.CompareAndSwap(false, true) {
		l.step = step
		l.timer.Reset(step)
	}
}

// end is true when the request was cancelled.
func (l *lane) end() bool { return l.until.Swap(0) == cut }

// look is what the timer does. It is never set further than step ahead, and no request has less time, so it looks
// at every request in time.
func (l *lane) look() {
	for {
		until := l.until.Load()
		left := time.Duration(until) - time.Since(l.born)
		switch {
		case until == 0:
			l.armed.Store(false)
			if l.until.Load() == 0 || !l.armed.CompareAndSwap(false, true) {
				return // or the request that has just begun has set the timer
			}
		case left > 0:
			l.timer.Reset(min(left, l.step))
			return
		case l.until.CompareAndSwap(until, cut):
			l.cancel(context.DeadlineExceeded)
			return
		}
	}
}

// Term is the time of one request.
type Term struct {
	lane   *lane
	cancel context.CancelFunc
}

// Begin bounds a request in time; within is least or more, which is the same for all requests. The caller ends the term as soon as it
// has the outcome, and stops it in any case.
func Begin(ctx context.Context, within, least time.Duration) (context.Context, Term) {
	if l, ok := ctx.Value(laneKey{}).(*lane); ok {
		l.begin(within, least)
		return ctx, Term{lane: l}
	}
	ctx, cancel := context.WithTimeout(ctx, within) // a server without WithLane
	return ctx, Term{cancel: cancel}
}

// End ends a term, and tells an err that its time was over from one that the client had gone.
func (t Term) End(w http.ResponseWriter, err error) error {
	if t.lane == nil || !t.lane.end() {
		return err
	}
	w.Header()["Connection"] = []string{"close"} // whatever came on it now would be cancelled
	if errors.Is(err, context.Canceled) {
		return context.DeadlineExceeded
	}
	return err
}

// Cut ends the context before its time; with a lane that is the connection's, which is good for nothing more then.
func (t Term) Cut() {
	if t.cancel != nil {
		t.cancel()
	} else {
		t.lane.cancel(context.Canceled)
	}
}

// Stop ends a term whose outcome nobody asks for.
func (t Term) Stop() {
	if t.cancel != nil {
		t.cancel()
	} else if t.lane != nil { // it has begun
		t.lane.end()
	}
}
