package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"
)

// pipes is a listener of connections in memory: in a bubble of synctest the deadlines of its server are of the bubble's
// clock, and a machine that is busy misses none.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// dial is a client's end of a new connection.
func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	p.conns <- there
	return here, nil
}

// servePiped runs the API as the daemon does, with these deadlines, in a bubble of synctest.
func servePiped(t *testing.T, b *bench, deadline time.Duration) (*pipes, *http.Client) {
	t.Helper()
	l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	srv := NewServer(b.handler, nil)
	srv.ReadTimeout, srv.WriteTimeout = deadline, deadline
	over := make(chan error, 1)
	go func() { over <- srv.Serve(l) }()
	client := &http.Client{Transport: &http.Transport{DialContext: l.dial}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		if err := errors.Join(srv.Close(), <-over); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return l, client
}
