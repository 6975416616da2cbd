package relay

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"time"
)

// kind of a frame.
type kind byte

const (
	ask    kind = 'a' // path, body
	answer kind = 'r' // a Reply: the status as a uint32, then the body
	drop   kind = 'd' // the caller does not wait any more
	ping   kind = 'p'
	pong   kind = 'q'
)

const (
	headSize = 4 + 1 + 8
	mostBody = 64 << 20 // a frame that says to be longer is not one of ours
)

var errFrame = errors.New("relay: a frame is cut short")

// outbox gathers frames while others are being written.
type outbox struct {
	conn net.Conn
	wake chan struct{}

	mu   sync.Mutex
	full []byte // to be written next
	err  error
}

func newOutbox(conn net.Conn) *outbox { return &outbox{conn: conn, wake: make(chan struct{}, 1)} }

// frame adds one; it is written soon.
func (o *outbox) frame(k kind, id uint64, numbers []uint32, texts ...[]byte) error {
	size := headSize - 4 + 4*len(numbers)
	for _, t := range texts {
		size += 4 + len(t)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	b := binary.BigEndian.AppendUint32(o.full, uint32(size))
	b = binary.BigEndian.AppendUint64(append(b, byte(k)), id)
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	for _, t := range texts {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(t))), t...)
	}
	o.full = b
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return nil
}

// run writes until stop is closed or the connection fails; adding a frame afterwards fails.
func (o *outbox) run(stop <-chan struct{}) error {
	var spare []byte
	for {
		select {
		case <-stop:
			return o.end(net.ErrClosed)
		case <-o.wake:
		}
		runtime.Gosched() // let other goroutines add their frames first
		o.mu.Lock()
		full := o.full
		o.full = spare[:0]
		o.mu.Unlock()
		_ = o.conn.SetWriteDeadline(time.Now().Add(Silence))
		if _, err := o.conn.Write(full); err != nil {
			return o.end(err)
		}
		spare = full
		if cap(spare) > 1<<20 {
			spare = nil
		}
	}
}

func (o *outbox) end(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = err
	return err
}

// inbox reads frames.
type inbox struct {
	conn net.Conn
	r    *bufio.Reader
	room []byte
}

func newInbox(conn net.Conn, r *bufio.Reader) *inbox {
	return &inbox{conn: conn, r: r}
}

// next reads a frame; its parts are good until the next one. Nothing for Silence is an error.
func (i *inbox) next() (k kind, id uint64, rest fields, err error) {
	if i.r.Buffered() < headSize {
		_ = i.conn.SetReadDeadline(time.Now().Add(Silence))
	}
	var head [headSize]byte
	if _, err = io.ReadFull(i.r, head[:]); err != nil {
		return 0, 0, nil, err
	}
	size := int(binary.BigEndian.Uint32(head[:])) - (headSize - 4)
	if size < 0 || size > mostBody {
		return 0, 0, nil, fmt.Errorf("relay: a frame of %d bytes", size)
	}
	if cap(i.room) < size {
		i.room = make([]byte, size, 2*size)
	}
	rest = fields(i.room[:size])
	if i.r.Buffered() < size {
		_ = i.conn.SetReadDeadline(time.Now().Add(Silence))
	}
	if _, err = io.ReadFull(i.r, rest); err != nil {
		return 0, 0, nil, err
	}
	return kind(head[4]), binary.BigEndian.Uint64(head[5:]), rest, nil
}

// fields is what a frame has after its head.
type fields []byte

func (f *fields) number() (uint32, error) {
	if len(*f) < 4 {
		return 0, errFrame
	}
	n := binary.BigEndian.Uint32(*f)
	*f = (*f)[4:]
	return n, nil
}

func (f *fields) text() ([]byte, error) {
	n, err := f.number()
	if err != nil || int(n) > len(*f) {
		return nil, errFrame
	}
	t := (*f)[:n]
	*f = (*f)[n:]
	return t, nil
}
