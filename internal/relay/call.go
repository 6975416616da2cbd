package relay

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Silence is how long the other side may say nothing: three pings.
const Silence = 3 * pingEvery

const pingEvery = time.Second

// Protocol is what the HTTP request that begins a connection asks to be upgraded to.
const Protocol = "divvy-relay/1"

// ErrBroken is returned by Call when the connection ended before the answer: the request may or may not have been
// served.
var ErrBroken = errors.New("the connection to the other daemon broke")

// Reply is an answer as HTTP has it. The headers are those that matter to a pilot; empty ones are not there.
type Reply struct {
	Status      int
	ContentType string
	RetryAfter  string
	Body        []byte
}

// Conn is the caller's end of a connection. Its methods may be called at any time by anybody.
type Conn struct {
	conn   net.Conn
	out    *outbox
	broken chan struct{}
	once   sync.Once

	mu    sync.Mutex
	last  uint64
	calls map[uint64]chan Reply
}

// Secure is in front of the address of a daemon whose port speaks TLS.
const Secure = "tls://"

// Dial connects to the daemon at address (host:port, or Secure and that), whose secret it must know. Behind Secure the
// daemon's certificate must be as trust wants it; nil: of a CA of the system, for the host of the address. ctx bounds the
// dialling only.
func Dial(ctx context.Context, address, secret string, trust *tls.Config) (*Conn, error) {
	var dialer interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	} = &net.Dialer{}
	address, secure := strings.CutPrefix(address, Secure)
	if secure {
		dialer = &tls.Dialer{Config: trust}
	}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	r, err := greet(ctx, conn, address, secret)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("relay to %s: %w", address, err), conn.Close())
	}
	c := &Conn{conn: conn, out: newOutbox(conn), broken: make(chan struct{}), calls: map[uint64]chan Reply{}}
	go func() { _ = c.out.run(c.broken); c.end() }()
	go c.read(newInbox(conn, r))
	go c.ping()
	return c, nil
}

// greet is the HTTP request that begins a connection.
func greet(ctx context.Context, conn net.Conn, address, secret string) (*bufio.Reader, error) {
	until, ok := ctx.Deadline()
	if !ok {
		until = time.Now().Add(Silence)
	}
	_ = conn.SetDeadline(until)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+Path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", Protocol)
	req.Header.Set("Authorization", "Bearer "+secret)
	if err := req.Write(conn); err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(conn, 64<<10)
	resp, err := http.ReadResponse(r, req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return nil, fmt.Errorf("it answers %s", resp.Status)
	}
	return r, conn.SetDeadline(time.Time{})
}

// Call hands a request on and waits for the answer. It returns ErrBroken, or the error of ctx: then the other side
// is told that nobody waits any more.
func (c *Conn) Call(ctx context.Context, path string, body []byte) (Reply, error) {
	got := make(chan Reply, 1)
	c.mu.Lock()
	if c.calls == nil {
		c.mu.Unlock()
		return Reply{}, ErrBroken
	}
	c.last++
	id := c.last
	c.calls[id] = got
	c.mu.Unlock()
	if err := c.out.frame(ask, id, nil, []byte(path), body); err != nil {
		return Reply{}, ErrBroken
	}
	select {
	case r, ok := <-got:
		if !ok {
			return Reply{}, ErrBroken
		}
		return r, nil
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.calls, id)
		c.mu.Unlock()
		_ = c.out.frame(drop, id, nil) // on a broken connection it has ended by itself
		return Reply{}, ctx.Err()
	}
}

// Broken is closed when the connection has ended.
func (c *Conn) Broken() <-chan struct{} { return c.broken }

// Close ends the connection; calls that wait get ErrBroken.
func (c *Conn) Close() { c.end() }

func (c *Conn) end() {
	c.once.Do(func() {
		close(c.broken)
		_ = c.conn.Close()
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, got := range c.calls {
			close(got)
		}
		c.calls = nil
	})
}

func (c *Conn) read(in *inbox) {
	defer c.end()
	for {
		k, id, rest, err := in.next()
		if err != nil {
			return
		}
		if k != answer {
			continue // pong
		}
		r, err := readReply(rest)
		if err != nil {
			return
		}
		c.mu.Lock()
		if got := c.calls[id]; got != nil {
			delete(c.calls, id)
			got <- r
		}
		c.mu.Unlock()
	}
}

func readReply(rest fields) (r Reply, err error) {
	status, err := rest.number()
	if err != nil {
		return r, err
	}
	var texts [3][]byte
	for i := range texts {
		if texts[i], err = rest.text(); err != nil {
			return r, err
		}
	}
	return Reply{Status: int(status), ContentType: word(texts[0]), RetryAfter: word(texts[1]), Body: append([]byte(nil), texts[2]...)}, nil
}

// word is a string without a copy of those that come all the time.
func word(b []byte) string {
	if string(b) == "application/json" {
		return "application/json"
	}
	return string(b)
}

func (c *Conn) ping() {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.broken:
			return
		case <-tick.C:
		}
		if c.out.frame(ping, 0, nil) != nil {
			return
		}
	}
}
