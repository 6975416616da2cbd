package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/start"
	"github.com/divvyhq/divvy/dispatcher/upkeep"
	"github.com/divvyhq/divvy/internal/ledgertest"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// mirror appends to the table what a simulation appends to the log of memory.
type mirror struct {
	t    *testing.T
	db   *pgxpool.Pool
	log  *ledger.Table
	site []*shares.Version // by number, from 1
	rows map[int64]bool    // of the outbox of memory, that the database has or had
	all  map[string]int    // answers, by what they were
}

// The seeds of TestHistories, on PostgreSQL: its log takes and refuses what the log of memory does, through races, doubt and failovers; and
// tables that are folded of it are a start that is the machine of the log.
func TestOnPostgreSQL(t *testing.T) {
	all, left := map[string]int{}, pgtest.Draws(40)
	for seed := uint64(0); left > 0; seed++ {
		p := Draw(seed)
		if left > 3 && !slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.Kind == FailOver }) {
			continue // most of them lose batches
		}
		left--
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w, db := Default(), pgtest.Open(t)
			m := &mirror{t, db, ledger.New(db), p.versions(), map[int64]bool{}, all}
			m.room()
			w.Append = m.append
			if r := Run(p, w, nil); len(r.Wrong) > 0 {
				t.Fatalf("seed %d: %s", seed, strings.Join(r.Wrong, "\n"))
			}
			m.folds(rand.New(rand.NewPCG(seed, 9)))
		})
	}
	t.Logf("answers of the log: %v", all)
	if all["appended"] == 0 || all["taken"] == 0 || all["failover"] == 0 {
		t.Errorf("the histories are too tame: %v", all)
	}
}

// room makes what a log and its tables need.
func (m *mirror) room() {
	none := func(context.Context, time.Time) (int, error) { return 0, nil }
	if _, err := upkeep.Room(m.t.Context(), upkeep.Config{DB: m.db, Log: m.log, Jobs: none, History: none,
		Folded: func(context.Context) (seq int64, at time.Time, err error) { return 0, at, nil },
		Roll:   func(context.Context) error { return nil }, Ahead: func(context.Context) (int, error) { return 0, nil }}); err != nil {
		m.t.Fatal(err)
	}
}

// append is Wiring's.
func (m *mirror) append(l *ledgertest.Memory, b entry.Batch, beside ledger.Beside) (time.Time, error) {
	ctx := m.t.Context()
	m.outsiders(l)
	at, err := l.AppendWith(ctx, b, beside)
	if _, here := m.log.AppendWith(ctx, b, beside); answerOf(here) != answerOf(err) {
		m.t.Fatalf("batch %d: the table says %v, the memory %v", b.Seq, here, err)
	}
	m.all[answerOf(err)]++
	return at, err
}

// outsiders has a failover of the memory, and rows of its outbox, befall the database too.
func (m *mirror) outsiders(l *ledgertest.Memory) {
	ctx := m.t.Context()
	seq, _, _ := l.Last(ctx)
	last, _, err := m.log.Last(ctx)
	if err != nil {
		m.t.Fatal(err)
	}
	exec := func(sql string, args ...any) {
		if _, err := m.db.Exec(ctx, sql, args...); err != nil {
			m.t.Fatalf("%s: %v", sql, err)
		}
	}
	if last > seq {
		exec("DELETE FROM batches WHERE seq > $1", seq)
		exec("DELETE FROM outbox")
		clear(m.rows)
		m.all["failover"]++
	}
	for _, r := range l.Pending(1 << 20) {
		if !m.rows[r.ID] {
			exec("INSERT INTO outbox (id, entries) OVERRIDING SYSTEM VALUE VALUES ($1, '[]')", r.ID)
			m.rows[r.ID] = true
		}
	}
}

func answerOf(err error) string {
	switch {
	case err == nil:
		return "appended"
	case errors.Is(err, ledger.ErrTaken):
		return "taken"
	case errors.Is(err, ledger.ErrGap):
		return "gap"
	case errors.Is(err, ledger.ErrGone):
		return "gone"
	}
	return err.Error()
}

// folds makes tables of the log, by steps of any length, and starts from them.
func (m *mirror) folds(r *rand.Rand) {
	m.t.Helper()
	ctx, whole := m.t.Context(), machine.New(machine.Config{})
	advance := func() {
		for seq, _ := whole.Stand(); ; seq, _ = whole.Stand() {
			batches, err := m.log.Read(ctx, seq, 500)
			if err != nil {
				m.t.Fatal(err)
			}
			if len(batches) == 0 {
				return
			}
			for _, b := range batches {
				for i, e := range b.Entries {
					if a, ok := e.(entry.Adopted); ok {
						a.Site = m.site[a.Number-1]
						b.Entries[i] = a
					}
				}
				if err := whole.Advance(b); err != nil {
					m.t.Fatal(err)
				}
			}
		}
	}
	advance()
	var stood []entry.Entry
	for _, e := range whole.Stood() {
		stood = append(stood, e)
	}
	seq, id := whole.Stand()
	if _, err := m.log.Append(ctx, entry.Batch{Seq: seq + 1, After: id, ID: entry.ID{1}, By: 99, Entries: stood}); err != nil {
		m.t.Fatal(err)
	}
	advance()
	sites := func(_ context.Context, n int64) (shares.Version, error) { return *m.site[n-1], nil }
	folder := fold.New(m.db, m.log, sites)
	for n := 1; n > 0; {
		step, err := folder.Fold(ctx, 1+r.IntN(60))
		if err != nil || step.Odds > 0 {
			m.t.Fatalf("%v, %v", err, step.Odd)
		}
		n = step.Batches
	}
	made, _, err := start.Load(ctx, m.db, sites, machine.Config{})
	if err != nil {
		m.t.Fatal(err)
	}
	if made.Digest() != whole.Digest() {
		m.t.Error("a start from the tables is not the machine of the log")
	}
}
