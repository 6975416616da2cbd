package chaos

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Wire is a TCP listener whose connections are passed on to a target.
type Wire struct {
	listener net.Listener
	all      sync.WaitGroup
	ctx      context.Context
	cancel   context.CancelFunc

	mu            sync.Mutex
	network, to   string
	delay, jitter time.Duration
	swallow       bool
	rng           *rand.Rand
	pairs         map[*pair]struct{}
}

// pair is a connection and the one that it is passed on to.
type pair struct {
	near, far net.Conn
	lossy     bool // bytes of it were swallowed; guarded by Wire.mu
}

// dialWithin bounds the way to the target.
const dialWithin = 5 * time.Second

// NewWire listens on a free port of this host. The seed is that of delays.
func NewWire(seed uint64) (*Wire, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &Wire{listener: l, rng: rand.New(rand.NewPCG(seed, 7)), pairs: map[*pair]struct{}{}}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.all.Go(w.accept)
	return w, nil
}

// Addr is host:port of the near end.
func (w *Wire) Addr() string { return w.listener.Addr().String() }

// Target says where connections go from now on: a network and an address as for net.Dial. Before, they are reset.
func (w *Wire) Target(network, address string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.network, w.to = network, address
}

// Delay lets every piece of bytes wait for d and up to jitter more, in each direction.
func (w *Wire) Delay(d, jitter time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delay, w.jitter = d, jitter
}

// Swallow makes the wire a black hole.
func (w *Wire) Swallow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.swallow = true
}

// Heal ends all faults. Connections that lost bytes meanwhile are reset.
func (w *Wire) Heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.swallow, w.delay, w.jitter = false, 0, 0
	for p := range w.pairs {
		if p.lossy {
			p.reset()
		}
	}
}

// Reset cuts every connection, with a RST where the system can, and returns how many there were.
func (w *Wire) Reset() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.pairs {
		p.reset()
	}
	return len(w.pairs)
}

// Close cuts all connections and waits until nothing of the wire runs any more.
func (w *Wire) Close() error {
	err := w.listener.Close()
	w.cancel()
	w.Reset()
	w.all.Wait()
	return err
}

func (p *pair) reset() {
	for _, c := range []net.Conn{p.near, p.far} {
		if c == nil {
			continue
		}
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // what is not sent is thrown away, and the peer gets a RST
		}
		_ = c.Close()
	}
}

func (w *Wire) accept() {
	for {
		near, err := w.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			w.all.Go(func() { w.carry(near) })
		}
	}
}

// carry serves one connection.
func (w *Wire) carry(near net.Conn) {
	p := &pair{near: near}
	w.mu.Lock()
	w.pairs[p] = struct{}{}
	network, to, hole := w.network, w.to, w.swallow
	w.mu.Unlock()
	defer w.drop(p)
	if hole { // the handshake of a black hole that a test can have: it is taken, and nothing follows
		w.lost(p)
		w.hold(near)
		return
	}
	if to == "" {
		return
	}
	ctx, cancel := context.WithTimeout(w.ctx, dialWithin)
	far, err := new(net.Dialer).DialContext(ctx, network, to)
	cancel()
	if err != nil {
		return
	}
	w.mu.Lock()
	p.far = far
	w.mu.Unlock()
	if w.ctx.Err() != nil {
		return
	}
	var there sync.WaitGroup
	there.Go(func() { w.copy(p, far, near) })
	w.copy(p, near, far)
	there.Wait()
}

// drop ends a pair with whatever its ends have.
func (w *Wire) drop(p *pair) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.reset()
	delete(w.pairs, p)
}

// hold reads what a black hole receives, until one side gives up.
func (w *Wire) hold(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

func (w *Wire) lost(p *pair) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.lossy = true
}

// now is what the wire does to the next piece.
func (w *Wire) now() (swallow bool, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wait = w.delay
	if w.jitter > 0 {
		wait += time.Duration(w.rng.Int64N(int64(w.jitter)))
	}
	return w.swallow, wait
}

// copy passes on one direction, and closes both ends when it is over.
func (w *Wire) copy(p *pair, to, from net.Conn) {
	defer func() { _ = to.Close(); _ = from.Close() }()
	buf := make([]byte, 64<<10)
	for lossy := false; ; {
		n, err := from.Read(buf)
		if err != nil {
			if lossy && errors.Is(err, io.EOF) {
				w.hold(to) // a black hole does not tell that its peer has gone
			}
			return
		}
		swallow, wait := w.now()
		if wait > 0 && !sleep(w.ctx, wait) {
			return
		}
		if swallow || lossy {
			lossy = true
			w.lost(p)
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// sleep waits; false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
