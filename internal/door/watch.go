package door

import (
	"time"
)

// watchAfter is how long a request may last before somebody looks whether its client is still there. Grants take some
// milliseconds, long polls minutes.
const watchAfter = 50 * time.Millisecond

// watch notices a client that goes away during a request, by a read that is not expected to return. It costs a
// goroutine, so requests that are soon over go without.
type watch struct {
	timer *time.Timer
	on    bool          // a request is being served. Guarded by conn.mu
	over  chan struct{} // the read has ended; nil: there is none. Guarded by conn.mu
	early [1]byte       // what the client has sent without waiting for the answer
	n     int           // bytes in early
}

func (w *watch) begin(c *conn) {
	c.mu.Lock()
	w.on = true
	c.mu.Unlock()
	if w.timer == nil {
		w.timer = time.AfterFunc(c.server.watchAfter, func() { w.look(c) })
		return
	}
	w.timer.Reset(c.server.watchAfter)
}

// look reads until the client sends something, goes, or the request ends. A timer that went off when its request was
// just over may watch the next one from its beginning.
func (w *watch) look(c *conn) {
	c.mu.Lock()
	if !w.on || w.over != nil {
		c.mu.Unlock()
		return
	}
	over := make(chan struct{})
	w.over = over
	_ = c.nc.SetReadDeadline(time.Time{}) // before end can set another
	c.mu.Unlock()
	defer close(over)
	n, err := c.nc.Read(w.early[:])
	w.n = n
	if n == 0 && err != nil && !isTimeout(err) {
		c.cancel()
	}
}

// end stops the watch and keeps what it has read.
func (w *watch) end(c *conn) {
	w.timer.Stop()
	c.mu.Lock()
	w.on = false
	over := w.over
	if over != nil {
		_ = c.nc.SetReadDeadline(time.Unix(1, 0)) // ends the read
	}
	c.mu.Unlock()
	if over == nil {
		return // and a look that has yet to begin finds the next request, or none
	}
	<-over
	c.mu.Lock()
	w.over = nil
	c.mu.Unlock()
	c.in = append(c.in, w.early[:w.n]...)
	w.n, c.until = 0, time.Time{}
}
