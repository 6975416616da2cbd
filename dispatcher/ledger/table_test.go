package ledger_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
	. "github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/internal/ledgertest"
)

func TestTableConforms(t *testing.T) {
	t.Parallel()
	conforms(t, func(t testing.TB) subject {
		table, db := ofTable(t, 100)
		if strings.HasSuffix(t.Name(), "/retain") {
			table, db = ofTable(t, 10)
		}
		exec := func(sql string, args ...any) {
			if _, err := db.Exec(context.Background(), sql, args...); err != nil {
				t.Fatal(err)
			}
		}
		return subject{Log: table, outsiders: ofDatabase(t, db), retain: table.Retain,
			failOver: func(seq int64) { exec("DELETE FROM batches WHERE seq > $1", seq) },
			advance: func(d time.Duration) {
				exec("UPDATE batches SET at = at + $1::interval WHERE seq = (SELECT max(seq) FROM batches)", d)
			},
			doubtful: func(applied bool) Log {
				if applied {
					return breaking(t, db, loseAnswer)
				}
				return breaking(t, db, loseRequest)
			}}
	})
}

// dropPartitions empties the log.
const dropPartitions = `DO $$ DECLARE c regclass; BEGIN
	FOR c IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'batches'::regclass LOOP EXECUTE 'DROP TABLE ' || c; END LOOP;
END $$`

// Whatever is asked of them, the table and the memory answer the same.
func TestMemoryIsTheTable(t *testing.T) {
	table, db := ofTable(t, 1)
	rapid.Check(t, func(r *rapid.T) {
		if _, err := db.Exec(t.Context(), dropPartitions+"; TRUNCATE outbox RESTART IDENTITY"); err != nil {
			r.Fatal(err)
		}
		if _, err := table.Extend(t.Context(), 16, 1); err != nil {
			r.Fatal(err)
		}
		d := duel{tb: t, table: table, memory: &ledgertest.Memory{}, db: db, known: []entry.Batch{{}}}
		r.Repeat(map[string]func(*rapid.T){"append": d.append, "append next": d.appendNext, "read": d.read, "write": d.write, "retain": d.retain, "fail over": d.failOver, "": func(r *rapid.T) { d.last(r); d.pending(r) }})
	})
}

// duel asks the table and the memory the same.
type duel struct {
	tb     testing.TB
	table  *Table
	memory *ledgertest.Memory
	db     *pgxpool.Pool
	known  []entry.Batch // that were ever appended, and the beginning
	n      int64
	rows   int64 // newest of the outbox
}

func (d *duel) write(r *rapid.T) {
	m, table := d.memory.Write(entry.Leader{}), ofDatabase(d.tb, d.db).write()
	if d.rows = m; m != table {
		r.Fatalf("row %d of the memory, %d of the table", m, table)
	}
}

func (d *duel) pending(r *rapid.T) {
	if a, m := ofDatabase(d.tb, d.db).pending(), ofMemory(d.memory).pending(); !slices.Equal(a, m) {
		r.Fatalf("pending: %v in the table, %v in the memory", a, m)
	}
}

func same(a, b error) bool {
	for _, e := range []error{ErrTaken, ErrGap, ErrDoubt, ErrGone, ErrDropped, ErrUnknown, ErrBroken} {
		if errors.Is(a, e) != errors.Is(b, e) {
			return false
		}
	}
	return (a == nil) == (b == nil)
}

func (d *duel) append(r *rapid.T) {
	d.follow(r, rapid.SampledFrom(d.known).Draw(r, "after"))
}

func (d *duel) appendNext(r *rapid.T) {
	var last entry.Batch
	last.Seq, last.ID, _ = d.memory.Last(r.Context())
	d.follow(r, last)
}

func (d *duel) follow(r *rapid.T, before entry.Batch) {
	if before.Seq == 16 {
		return // the last partition
	}
	d.n++
	b := after(before, 1)
	b.ID = id(1, d.n)
	var beside Beside
	if d.rows > 0 && rapid.Bool().Draw(r, "with rows") {
		beside.Rows = rapid.SliceOfNDistinct(rapid.Int64Range(max(1, d.rows-3), d.rows), 1, 3, rapid.ID[int64]).Draw(r, "rows")
		if rapid.Bool().Draw(r, "refused") {
			beside.Rows, beside.Refused = beside.Rows[1:], []Refusal{{beside.Rows[0], "no"}}
		}
	}
	_, a := d.table.AppendWith(r.Context(), b, beside)
	if _, m := d.memory.AppendWith(r.Context(), b, beside); !same(a, m) {
		r.Fatalf("append %d: the table says %v, the memory %v", b.Seq, a, m)
	}
	if a == nil {
		d.known = append(d.known, b)
	}
}

func (d *duel) read(r *rapid.T) {
	seq, most := rapid.Int64Range(0, 20).Draw(r, "seq"), rapid.IntRange(1, 5).Draw(r, "most")
	a, errA := d.table.Read(r.Context(), seq, most)
	m, errM := d.memory.Read(r.Context(), seq, most)
	for _, list := range [][]entry.Batch{a, m} {
		for i := range list {
			list[i].At = time.Time{}
		}
	}
	if diff := differ(a, m); diff != "" || !same(errA, errM) {
		r.Fatalf("read after %d: the table says %v, the memory %v:\n%s", seq, errA, errM, diff)
	}
}

func (d *duel) last(r *rapid.T) {
	a, idA, errA := d.table.Last(r.Context())
	m, idM, errM := d.memory.Last(r.Context())
	if a != m || idA != idM || errA != nil || errM != nil {
		r.Fatalf("last: the table says %d %v %v, the memory %d %v %v", a, idA, errA, m, idM, errM)
	}
}

func (d *duel) retain(r *rapid.T) {
	before, folded := time.Now().Add(time.Hour), rapid.Int64Range(0, 20).Draw(r, "folded")
	if rapid.Bool().Draw(r, "none is old") {
		before = time.Unix(0, 0)
	}
	a, errA := d.table.Retain(r.Context(), before, folded)
	m, errM := d.memory.Retain(r.Context(), before, folded)
	if a != m || errA != nil || errM != nil {
		r.Fatalf("retain: the table dropped %d %v, the memory %d %v", a, errA, m, errM)
	}
}

// failOver loses up to three batches, never all that are kept.
func (d *duel) failOver(r *rapid.T) {
	seq, _, _ := d.memory.Last(r.Context())
	seq -= min(rapid.Int64Range(1, 3).Draw(r, "lost"), int64(len(d.memory.Batches)-1))
	if len(d.memory.Batches) == 0 {
		return
	}
	if _, err := d.db.Exec(r.Context(), "DELETE FROM batches WHERE seq > $1", seq); err != nil {
		r.Fatal(err)
	}
	d.memory.FailOver(seq)
	d.rows = 0 // the table's outbox knows nothing of it: both begin anew
	d.memory.ForgetRows()
	if _, err := d.db.Exec(r.Context(), "TRUNCATE outbox RESTART IDENTITY"); err != nil {
		r.Fatal(err)
	}
}
