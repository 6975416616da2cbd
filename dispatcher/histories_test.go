package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/sim"
	"github.com/divvyhq/divvy/internal/ledgertest"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// mirror appends to the table what a simulation appends to the log of memory.
type mirror struct {
	t    *testing.T
	s    *stage
	log  *ledger.Table
	rows map[int64]bool // of the outbox of memory, that the database has or had
	all  map[string]int // answers, by what they were
}

// The seeds of sim.TestHistories, on PostgreSQL: its log takes and refuses what the log of memory does, through races, doubt and failovers; and
// tables that are folded of it are a start that is the machine of the log.
func TestHistoriesOnPostgreSQL(t *testing.T) {
	all, left := map[string]int{}, pgtest.Draws(40)
	for seed := uint64(0); left > 0; seed++ {
		p := sim.Draw(seed)
		if left > 3 && !slices.ContainsFunc(p.Faults, func(f sim.Fault) bool { return f.Kind == sim.FailOver }) {
			continue // most of them lose batches
		}
		left--
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := sim.Default()
			v := *w.First(p.Slots)[0].(entry.Adopted).Site
			s := newTables(t)
			d, err := Open(t.Context(), Config{Pool: s.db, Outbox: s.outbox, Daemon: 99, Site: func(context.Context, int64) (shares.Version, error) { return v, nil }})
			if err != nil {
				t.Fatal(err)
			}
			m := &mirror{t, s, ledger.New(s.db), map[int64]bool{}, all}
			w.Append = m.append
			if r := sim.Run(p, w, nil); len(r.Wrong) > 0 {
				t.Fatalf("seed %d: %s", seed, strings.Join(r.Wrong, "\n"))
			}
			m.folds(world{d}, v, rand.New(rand.NewPCG(seed, 9)))
		})
	}
	t.Logf("answers of the log: %v", all)
	if all["appended"] == 0 || all["taken"] == 0 || all["failover"] == 0 {
		t.Errorf("the histories are too tame: %v", all)
	}
}

// append is sim.Wiring's.
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
		if _, err := m.s.db.Exec(ctx, sql, args...); err != nil {
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
func (m *mirror) folds(d world, v shares.Version, r *rand.Rand) {
	m.t.Helper()
	ctx, whole := m.t.Context(), machine.New(machine.Config{})
	advance := func() {
		for seq, _ := whole.Stand(); ; seq, _ = whole.Stand() {
			batches, err := d.Read(ctx, seq)
			if err != nil {
				m.t.Fatal(err)
			}
			if len(batches) == 0 {
				return
			}
			for _, b := range batches {
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
	folder := fold.New(m.s.db, m.log, fold.Sites(d.cfg.Site))
	for n := 1; n > 0; {
		step, err := folder.Fold(ctx, 1+r.IntN(60))
		if err != nil || step.Odds > 0 {
			m.t.Fatalf("%v, %v", err, step.Odd)
		}
		n = step.Batches
	}
	if made := m.s.made(m.t, v); made.Digest() != whole.Digest() {
		m.t.Error("a start from the tables is not the machine of the log")
	}
}
