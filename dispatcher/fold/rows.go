package fold

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// binaryRows asks for columns as row reads them.
var binaryRows = pgx.QueryResultFormats{pgx.BinaryFormatCode}

// row takes the columns of a row one after the other, as the wire has them: a start reads a million, and pgx's Scan is as slow
// as PostgreSQL. No column is NULL.
type row struct {
	columns [][]byte
	names   map[string]string // texts that came before: pilots and nodes have many leases
	err     error
}

func (r *row) next(size int) []byte {
	if len(r.columns) == 0 || size > 0 && len(r.columns[0]) != size {
		r.fail(errRow)
		return make([]byte, size)
	}
	c := r.columns[0]
	r.columns = r.columns[1:]
	return c
}

func (r *row) fail(err error) { r.err = cmp.Or(r.err, err) }

func (r *row) int64() int64 { return int64(binary.BigEndian.Uint64(r.next(8))) }
func (r *row) int32() int32 { return int32(binary.BigEndian.Uint32(r.next(4))) }
func (r *row) char() byte   { return r.next(1)[0] }
func (r *row) id() entry.ID { return entry.ID(r.next(16)) }

var errRow = errors.New("a row is not as this version has it")

// epoch2000 is the zero of PostgreSQL's clock.
const epoch2000 = 946_684_800_000_000

func (r *row) time() time.Time { return time.UnixMicro(r.int64() + epoch2000).UTC() }

func (r *row) text() string {
	b := r.next(0)
	s, ok := r.names[string(b)]
	if !ok {
		s = string(b)
		r.names[s] = s
	}
	return s
}

// moment is a time in microseconds; 0 is the zero time.
func (r *row) moment() time.Time {
	if us := r.int64(); us != 0 {
		return time.UnixMicro(us).UTC()
	}
	return time.Time{}
}

func (r *row) flag() bool { return r.next(1)[0] != 0 }

func (r *row) lease() (l Lease) {
	l.Job, l.Nth, l.Nonce, l.Task, l.Place, l.Units = r.int64(), r.int64(), r.int64(), r.int64(), r.int64(), shares.Units(r.int64())
	l.GrantedAt, l.Request, l.Attempt, l.Share, l.Shape = r.time(), r.id(), r.int32(), shares.ShareID(r.int32()), r.int32()
	l.Queue, l.StartDelayMS, l.TTLS, l.GraceS = shares.QueueID(r.int32()), r.int32(), r.int32(), r.int32()
	l.Pilot, l.Node, l.Reason = r.text(), r.text(), r.text()
	return l
}

func (r *row) kill() Kill {
	return Kill{r.int64(), r.int64(), r.int64(), r.int64(), r.text(), r.int32(), r.flag()}
}

func (r *row) move() Move {
	return Move{r.int64(), r.int64(), r.int64(), r.int64(), r.time(), shares.ShareID(r.int32()), shares.ShareID(r.int32()), r.int64(), r.flag()}
}

func (r *row) overRange() Over {
	return Over{r.int64(), r.int64(), r.int64(), r.int64(), r.time(), State(r.char())}
}

func (r *row) idle() (v Range) {
	v.Low, v.High, v.Task, v.Place = r.int64(), r.int64(), r.int64(), r.int64()
	v.Share, v.Shape, v.Attempt, v.State = shares.ShareID(r.int32()), r.int32(), r.int32(), State(r.char())
	return v
}

// askAll calls fn with every row of a statement without arguments.
func askAll(ctx context.Context, db pg.DB, name string, fn func(*row)) error {
	return ask(ctx, db, name, pg.Args{}, fn)
}

func askOf(ctx context.Context, db pg.DB, name string, ids []int64, fn func(*row)) error {
	if len(ids) == 0 {
		return nil
	}
	return ask(ctx, db, name, pg.Args{"ids": ids}, fn)
}

// ask calls fn with every row that a statement returns.
func ask(ctx context.Context, db pg.DB, name string, args pgx.QueryRewriter, fn func(*row)) error {
	rows, err := db.Query(ctx, query[name], binaryRows, args)
	if err != nil {
		return err
	}
	defer rows.Close()
	r := &row{names: map[string]string{}}
	for rows.Next() {
		r.columns = rows.RawValues()
		if fn(r); len(r.columns) > 0 {
			r.fail(errRow)
		}
		if r.err != nil {
			return r.err
		}
	}
	return rows.Err()
}
