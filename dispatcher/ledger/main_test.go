package ledger_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/entry"
	. "github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// ofTable is the log of a database with partitions of this many rows.
func ofTable(t testing.TB, size int64) (*Table, *pgxpool.Pool) {
	t.Helper()
	db := pgtest.Open(t)
	table := New(db)
	if n, err := table.Extend(t.Context(), 10*size, size); n != 10 || err != nil {
		t.Fatalf("%d partitions, %v: want 10", n, err)
	}
	return table, db
}

// id is the n-th of writer's ids.
func id(writer byte, n int64) entry.ID {
	return entry.ID{0: writer, 1: 1, 8: byte(n >> 24), 9: byte(n >> 16), 10: byte(n >> 8), 11: byte(n)}
}

// after makes a batch of writer's, with a tick, that follows b; a zero b is the beginning.
func after(b entry.Batch, writer byte) entry.Batch {
	return entry.Batch{Seq: b.Seq + 1, ID: id(writer, b.Seq+1), After: b.ID, By: int64(writer), Entries: []entry.Entry{entry.Tick{}}}
}

// grow appends n batches of writer's after b and returns the last.
func grow(t testing.TB, l Log, b entry.Batch, writer byte, n int) entry.Batch {
	t.Helper()
	for range n {
		b = after(b, writer)
		at, err := l.Append(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		b.At = at
	}
	return b
}

// readAll is the whole of a log from seq on, by pages of three.
func readAll(t testing.TB, l Log, seq int64) (all []entry.Batch) {
	t.Helper()
	for {
		page, err := l.Read(t.Context(), seq, 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		seq = page[len(page)-1].Seq
	}
}

// differ is how two logs, or parts of them, are different.
func differ(want, got any) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateComparable(time.Time{}))
}
