package door

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// grace is how long a client may have gone before its request is cancelled: what is soon over is finished for it.
const grace = 50 * time.Millisecond

// MaxBody is the longest body, in bytes, that the door reads itself; larger ones are net/http's.
const MaxBody = 64 << 10

// Server is a net/http server with a door before it.
type Server struct {
	*http.Server
	// Hot are the handlers of POST requests, by path; empty: no door.
	Hot map[string]http.Handler

	mu      sync.Mutex
	conns   map[uint64]*conn // by number
	last    uint64           // number of a connection
	all     sync.WaitGroup
	closing atomic.Bool
	watch   watch // guarded by mu
}

// Serve accepts connections until Shutdown or Close, whose sign is http.ErrServerClosed.
func (s *Server) Serve(l net.Listener) error {
	if len(s.Hot) == 0 {
		return s.Server.Serve(l)
	}
	s.watch.gone = s.gone
	rest := &rest{Listener: l, conns: make(chan net.Conn), failed: make(chan error, 1), done: make(chan struct{})}
	go s.accept(rest)
	return s.Server.Serve(rest)
}

// accept starts a goroutine a connection, and rests when the system has no room for another one.
func (s *Server) accept(r *rest) {
	defer func() { s.all.Wait(); s.watch.close() }()
	for pause := time.Duration(0); ; {
		nc, err := r.Listener.Accept()
		var passing interface{ Temporary() bool } // what net/http asks too: too many open files, mainly
		switch {
		case err == nil:
			pause = 0
			s.take(nc, r)
		case errors.As(err, &passing) && passing.Temporary():
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			select {
			case <-time.After(pause):
			case <-r.done:
				return
			}
		default:
			r.failed <- err
			return
		}
	}
}

func (s *Server) take(nc net.Conn, r *rest) {
	c := newConn(s, nc, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		_ = nc.Close()
		return
	}
	if s.conns == nil {
		s.conns = map[uint64]*conn{}
	}
	s.last++
	c.number = s.last
	s.conns[c.number] = c
	s.watch.add(nc, c.number)
	s.all.Add(1)
	go c.serve()
}

// gone cancels what a client has asked for that has gone.
func (s *Server) gone(number uint64) {
	s.mu.Lock()
	c := s.conns[number]
	s.mu.Unlock()
	if c != nil {
		time.AfterFunc(grace, c.cancel)
	}
}

func (s *Server) left(c *conn) {
	s.mu.Lock()
	delete(s.conns, c.number)
	s.mu.Unlock()
	s.all.Done()
}

// Shutdown ends the server as http.Server.Shutdown does: see doc.go, 5.
func (s *Server) Shutdown(ctx context.Context) error {
	s.close(false)
	err := s.Server.Shutdown(ctx) // closes the listener too
	over := make(chan struct{})
	go func() { defer close(over); s.all.Wait() }()
	select {
	case <-over:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends the server and all its connections at once.
func (s *Server) Close() error {
	s.close(true)
	return s.Server.Close()
}

func (s *Server) close(busy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing.Store(true)
	for _, c := range s.conns {
		c.leave(busy)
	}
}

// rest is the listener of net/http: the connections that the door has handed over.
type rest struct {
	net.Listener
	conns  chan net.Conn
	failed chan error
	done   chan struct{}
	once   sync.Once
}

func (r *rest) Accept() (net.Conn, error) {
	select {
	case nc := <-r.conns:
		return nc, nil
	case err := <-r.failed:
		return nil, err
	case <-r.done:
		return nil, net.ErrClosed
	}
}

func (r *rest) Close() error {
	r.once.Do(func() { close(r.done) })
	return r.Listener.Close()
}

// begun is a connection of which the door has read the beginning.
type begun struct {
	net.Conn
	read []byte
}

func (b *begun) Read(p []byte) (int, error) {
	if len(b.read) == 0 {
		return b.Conn.Read(p)
	}
	n := copy(p, b.read)
	if b.read = b.read[n:]; len(b.read) == 0 {
		b.read = nil
	}
	return n, nil
}

// begunTLS is one with TLS: net/http asks it for what requests are to say of that.
type begunTLS struct {
	begun
	secure *tls.Conn
}

// ConnectionState is what the handshake came to.
func (b *begunTLS) ConnectionState() tls.ConnectionState { return b.secure.ConnectionState() }

func begin(nc net.Conn, read []byte) net.Conn {
	if secure, ok := nc.(*tls.Conn); ok {
		return &begunTLS{begun{nc, read}, secure}
	}
	return &begun{nc, read}
}
