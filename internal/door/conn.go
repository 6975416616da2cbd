package door

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

const (
	firstRoom = 1 << 10          // bytes of a connection's buffer; most requests fit
	keepRoom  = 16 << 10         // a larger buffer is given back after its request
	pieces    = time.Second      // how long a request that has begun may pause before it is net/http's
	slackOf   = 30 * time.Second // how much later than it should a deadline may come
)

// conn is one connection while the door has it.
type conn struct {
	server *Server
	number uint64
	nc     net.Conn
	rest   *rest
	head   head
	in     []byte    // read and not yet served
	size   int       // of the request that is served, with its head
	until  time.Time // deadline of reads
	wuntil time.Time // deadline of writes
	served bool      // a request
	body   body
	req    *http.Request
	out    writer
	cancel context.CancelFunc
	parked *parked // the request that is served, when its handler has asked for that

	mu   sync.Mutex
	busy bool // a request is being served
	gone bool // closed by Shutdown or Close
}

// body is a request's body: bytes that are there already.
type body struct{ bytes.Reader }

func (*body) Close() error { return nil }

func newConn(s *Server, nc net.Conn, r *rest) *conn {
	c := &conn{server: s, nc: nc, rest: r}
	ctx := context.WithValue(context.Background(), http.ServerContextKey, s.Server)
	if s.ConnContext != nil {
		ctx = s.ConnContext(ctx, nc)
	}
	ctx = context.WithValue(ctx, http.LocalAddrContextKey, nc.LocalAddr())
	ctx, c.cancel = context.WithCancel(ctx)
	c.req = (&http.Request{
		Method: http.MethodPost, URL: &url.URL{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: &c.body, RemoteAddr: nc.RemoteAddr().String(),
	}).WithContext(ctx)
	c.out.header, c.out.conn = http.Header{}, c
	return c
}

// serve answers requests until the client goes, the server stops, a request is parked, or something comes that is net/http's.
func (c *conn) serve() {
	for goesOn := true; goesOn; {
		h, size, v := c.next()
		switch {
		case v == other:
			c.handOver()
			c.over()
			return
		case h == nil || !c.begin(size):
			_ = c.nc.Close()
			c.over()
			return
		}
		whole := c.run(h, c.req)
		if p := c.parked; p != nil {
			if !p.returned(whole) {
				return
			}
			c.parked = nil
			whole = whole && c.run(p.finish, c.req)
		}
		goesOn = c.answer(whole)
	}
}

// resume answers a request that was parked, and serves those after it.
func (c *conn) resume() {
	finish := c.parked.finish
	c.parked = nil
	if c.answer(c.run(finish, c.req)) {
		c.serve()
	}
}

func (c *conn) over() {
	c.cancel()
	c.server.left(c)
}

// next reads on until a whole request is there. No handler: the client has gone.
func (c *conn) next() (h http.Handler, size int, v verdict) {
	for {
		if len(c.in) > 0 {
			if h, size, v = c.head.read(c.in, c.server.Hot); v == plain && c.head.length > MaxBody {
				v = other
			}
			if v == other || v == plain && len(c.in) >= size+c.head.length {
				return h, size, v
			}
		}
		c.room(size + max(0, c.head.length))
		begun := len(c.in) > 0
		c.await(begun)
		n, err := c.nc.Read(c.in[len(c.in):cap(c.in)])
		c.in = c.in[:len(c.in)+n]
		switch {
		case err == nil || n > 0:
		case begun && !c.closed():
			return nil, 0, other // net/http has the words for what is cut off or too slow
		default:
			tellOfTLS(err)
			return nil, 0, plain
		}
	}
}

// room makes the buffer larger when it is full or a request is known to need it.
func (c *conn) room(need int) {
	if len(c.in) < cap(c.in) && need <= cap(c.in) {
		return
	}
	grown := make([]byte, len(c.in), max(firstRoom, need, 2*len(c.in)))
	copy(grown, c.in)
	c.in = grown
}

// await sets the deadline of the read that follows. That of an idle connection is moved only when it has come closer by
// slackOf; one that has yet to ask for something gets the time of net/http for that.
func (c *conn) await(begun bool) {
	now := time.Now()
	switch {
	case begun:
		c.until = now.Add(min(pieces, c.server.ReadTimeout))
	case !c.served:
		c.until = now.Add(c.server.ReadHeaderTimeout)
	case c.until.Sub(now) > c.server.IdleTimeout:
		return
	default:
		c.until = now.Add(c.server.IdleTimeout + slackOf)
	}
	_ = c.nc.SetReadDeadline(c.until) // when it fails, so does the read
}

// begin makes a request of what was read, whose head has this size; false: the server has closed the connection.
func (c *conn) begin(size int) bool {
	if !c.enter() {
		return false
	}
	if !c.served {
		c.served, c.until = true, time.Time{}
		if secure, ok := c.nc.(*tls.Conn); ok { // its handshake is over: a request came through it
			state := secure.ConnectionState()
			c.req.TLS = &state
		}
	}
	r := c.req
	r.Header, r.Host, r.ContentLength, r.Close = c.head.header, c.head.host, int64(c.head.length), c.head.last
	path := c.in[len(post) : bytes.IndexByte(c.in, '\n')+1-len(version)]
	if r.RequestURI != string(path) {
		r.RequestURI = string(path)
		r.URL.Path = r.RequestURI
	}
	c.size = size + c.head.length
	c.body.Reset(c.in[size:c.size])
	return true
}

// answer sends what the handler has written, and forgets the request; false: the connection has ended.
func (c *conn) answer(whole bool) bool {
	last := c.head.last || c.server.closing.Load()
	if whole {
		if now := time.Now(); c.wuntil.Sub(now) < c.server.WriteTimeout {
			c.wuntil = now.Add(c.server.WriteTimeout + slackOf)
			_ = c.nc.SetWriteDeadline(c.wuntil) // when it fails, so does the write
		}
		whole = c.out.send(c.nc, &last)
	}
	c.out.reset()
	if !c.quit() || !whole || last {
		_ = c.nc.Close()
		c.over()
		return false
	}
	rest := copy(c.in, c.in[c.size:])
	if c.in = c.in[:rest]; cap(c.in) > keepRoom {
		c.in = append([]byte(nil), c.in...)
	}
	return true
}

// run calls the handler. It is false when the handler panicked.
func (c *conn) run(h http.Handler, r *http.Request) (whole bool) {
	defer func() {
		if p := recover(); p != nil {
			if err, ok := p.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
				c.complain(p)
			}
			whole = false
		}
	}()
	h.ServeHTTP(&c.out, r)
	return true
}

func (c *conn) complain(p any) {
	if log := c.server.ErrorLog; log != nil {
		log.Printf("door: panic serving %s: %v", c.req.RemoteAddr, p)
	}
}

// enter begins a request; false: the server has closed the connection.
func (c *conn) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = !c.gone
	return c.busy
}

// quit ends it; false: so does the connection. A server that began to close just after the answer was sent has left it
// alone as a busy one.
func (c *conn) quit() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = false
	return !c.gone && !c.server.closing.Load()
}

func (c *conn) closed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}

// leave closes the connection unless a request is being served, or even then.
func (c *conn) leave(busy bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.busy || busy {
		c.gone = true
		_ = c.nc.Close()
	}
}

// handOver gives the connection to net/http with all that was read of it.
func (c *conn) handOver() {
	if c.nc.SetDeadline(time.Time{}) == nil && !c.closed() {
		select {
		case c.rest.conns <- begin(c.nc, c.in):
			return
		case <-c.rest.done:
		}
	}
	_ = c.nc.Close()
}
