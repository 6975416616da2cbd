package ledger_test

import (
	"context"
	"net"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/entry"
	. "github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/internal/pg"
)

// How a connection breaks.
const (
	whole       int32 = iota
	loseRequest       // the next request is not sent
	loseAnswer        // the server has done it, and its answer does not come back
	cutOff            // the next request is sent; what becomes of it is not waited for
	broken            // nothing goes through, and no new connection is made: the server is never told
)

// lossy is the way of one pool to its server.
type lossy struct{ how atomic.Int32 }

type lossyConn struct {
	net.Conn
	*lossy
}

func (l *lossy) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if l.how.Load() != whole {
		return nil, reset("dial")
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	return lossyConn{conn, l}, err
}

func reset(op string) error { return &net.OpError{Op: op, Err: syscall.ECONNRESET} }

func (c lossyConn) Write(p []byte) (int, error) {
	if c.how.CompareAndSwap(loseRequest, broken) || c.how.Load() == broken {
		return 0, reset("write")
	}
	return c.Conn.Write(p)
}

func (c lossyConn) Read(p []byte) (int, error) {
	switch {
	case c.how.CompareAndSwap(loseAnswer, broken):
		if _, err := c.Conn.Read(p); err != nil { // the answer comes after the commit
			return 0, err
		}
		return 0, reset("read")
	case c.how.CompareAndSwap(cutOff, broken), c.how.Load() == broken:
		return 0, reset("read")
	}
	return c.Conn.Read(p)
}

// breaking is the log by a connection of its own, which has prepared its statements and breaks with the next append. The socket
// itself stays open until the test ends, as that of a host that is gone.
func breaking(t testing.TB, db *pgxpool.Pool, how int32) Log {
	t.Helper()
	l := &lossy{}
	open := db.Config().ConnString()
	pool, err := pg.Open(t.Context(), open, pg.MaxConns(1), func(c *pgxpool.Config) { c.ConnConfig.DialFunc = l.dial })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	table := New(pool)
	for _, beside := range []Beside{{}, {Rows: []int64{1}}} {
		if _, err := table.AppendWith(t.Context(), entry.Batch{Seq: 2, ID: id(9, 2), After: id(9, 1)}, beside); err == nil {
			t.Fatal("appended over a gap")
		}
	}
	l.how.Store(how)
	return table
}
