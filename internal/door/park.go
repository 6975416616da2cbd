package door

import (
	"net/http"
	"sync/atomic"
)

// Parker is the ResponseWriter of a hot handler: a request that waits for long need not keep a goroutine.
type Parker interface {
	// Park has the handler's return leave the request open. It goes on with resume, to be called once, by any goroutine and
	// even before the handler has returned: finish writes the answer, on a goroutine of the connection.
	Park() (resume func(finish func()))
}

// parked is a request that goes on when its handler has returned and resume was called.
type parked struct {
	conn   *conn
	finish http.HandlerFunc
	came   atomic.Int32 // both, and whoever comes second goes on
}

func (w *writer) Park() func(func()) {
	p := &parked{conn: w.conn}
	w.conn.parked = p
	return p.resume
}

func (p *parked) resume(finish func()) {
	p.finish = func(http.ResponseWriter, *http.Request) { finish() }
	if p.came.Add(1) == 2 {
		go p.conn.resume()
	}
}

// returned is whether the connection's goroutine goes on at once. A handler that panicked is not resumed.
func (p *parked) returned(whole bool) bool {
	if !whole {
		p.came.Add(2)
		return true
	}
	return p.came.Add(1) == 2
}
