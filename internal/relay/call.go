package relay

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Silence is how long the other side may say nothing: three pings.
const Silence = 3 * pingEvery

const pingEvery = time.Second

// Protocol is what the HTTP request that begins a connection asks to be upgraded to.
const Protocol = "divvy-relay/3"

// ErrBroken is returned by Call when the connection ended before the answer: the request may or may not have been
// served.
var ErrBroken = errors.New("the connection to the other daemon broke")

// ErrOtherDatabase is returned by Dial when the daemon does not find the caller in its database: one of the two works on a copy.
var ErrOtherDatabase = errors.New("it works on another database than this daemon, which is a copy of it or was")

// Reply is an answer as HTTP has it.
type Reply struct {
	Status int
	Body   []byte
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

// Callee is the daemon that is called.
type Callee struct {
	Address string      // host:port, or Secure and that
	Secret  string      // that it asks for
	Trust   *tls.Config // how its certificate must be, behind Secure; nil: of a CA of the system, for the host of the address
}

// Caller is the daemon that calls, as the database has it.
type Caller struct {
	ID     int64
	Secret string
}

// Dial connects to a daemon, which has to work on the same database. ctx bounds the dialling only.
func Dial(ctx context.Context, to Callee, as Caller) (*Conn, error) {
	var dialer interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	} = &net.Dialer{}
	address, secure := strings.CutPrefix(to.Address, Secure)
	if secure {
		dialer = &tls.Dialer{Config: to.Trust}
	}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	to.Address = address
	r, err := greet(ctx, conn, to, as)
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
func greet(ctx context.Context, conn net.Conn, to Callee, as Caller) (*bufio.Reader, error) {
	until, ok := ctx.Deadline()
	if !ok {
		until = time.Now().Add(Silence)
	}
	_ = conn.SetDeadline(until)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+to.Address+Path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", Protocol)
	req.Header.Set("Authorization", "Bearer "+to.Secret)
	req.Header.Set(callerHeader, strconv.FormatInt(as.ID, 10))
	req.Header.Set(proofHeader, as.proof(to.Secret))
	if err := req.Write(conn); err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(conn, 64<<10)
	resp, err := http.ReadResponse(r, req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusSwitchingProtocols:
		return r, conn.SetDeadline(time.Time{})
	case http.StatusConflict:
		return nil, ErrOtherDatabase
	}
	return nil, fmt.Errorf("it answers %s", resp.Status)
}

// Headers of the greeting.
const (
	callerHeader = "Divvy-Daemon"       // its id
	proofHeader  = "Divvy-Daemon-Proof" // that it knows its secret
)

// proof shows a callee with this secret that the caller knows its own, which it does not say: the callee may be one of another
// site.
func (c Caller) proof(callee string) string {
	m := hmac.New(sha256.New, []byte(c.Secret))
	_, _ = m.Write([]byte(Protocol + " " + strconv.FormatInt(c.ID, 10) + " " + callee))
	return hex.EncodeToString(m.Sum(nil))
}

// Call hands a request on and waits for the answer. It returns ErrBroken, or the error of ctx: then the other side
// is told that no caller waits any more.
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
	body, err := rest.text()
	if err != nil {
		return r, err
	}
	return Reply{Status: int(status), Body: append([]byte(nil), body...)}, nil
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
