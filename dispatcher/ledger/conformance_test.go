package ledger_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
	. "github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/internal/ledgertest"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// subject is an empty log under test, and what can befall it.
type subject struct {
	Log
	retain   func(ctx context.Context, before time.Time, folded int64) (int, error)
	failOver func(seq int64)        // loses what comes after
	advance  func(d time.Duration)  // moves the time of the newest batch on
	doubtful func(applied bool) Log // the same log, whose next append is applied or not, and its answer lost
	outsiders
}

// conforms checks that a log keeps the contract, whatever it is made of.
func conforms(t *testing.T, open func(testing.TB) subject) {
	for name, check := range map[string]func(*testing.T, subject){
		"empty": checkEmpty, "equal": checkEqual, "site": checkSite, "refused": checkRefused, "taken": checkTaken, "gap": checkGap, "time": checkTime,
		"race": checkRace, "paused": checkPaused, "failover": checkFailOver, "retain": checkRetain, "doubt": checkDoubt,
		"rows": checkRows, "texts": checkTextsBeside, "refused texts": checkRefusedTexts,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t))
		})
	}
}

func TestMemoryConforms(t *testing.T) {
	t.Parallel()
	conforms(t, func(testing.TB) subject {
		m := &ledgertest.Memory{}
		return subject{Log: m, outsiders: ofMemory(m), retain: m.Retain, failOver: m.FailOver,
			advance: func(d time.Duration) {
				b := &m.Batches[len(m.Batches)-1]
				b.At = b.At.Add(d)
			},
			doubtful: func(applied bool) Log {
				m.Fate = func(entry.Batch) ledgertest.Fate {
					m.Fate = nil
					return ledgertest.Fate{Drop: !applied, Lose: applied}
				}
				return m
			}}
	})
}

func checkEmpty(t *testing.T, l subject) {
	if seq, id, err := l.Last(t.Context()); seq != 0 || id != (entry.ID{}) || err != nil {
		t.Errorf("last of an empty log: %d, %v, %v", seq, id, err)
	}
	if b, err := l.Read(t.Context(), 0, 10); len(b) != 0 || err != nil {
		t.Errorf("an empty log has %v, %v", b, err)
	}
	if _, err := l.Append(t.Context(), entry.Batch{Seq: 2, ID: id(1, 2), After: id(1, 1)}); !errors.Is(err, ErrGap) {
		t.Errorf("the second batch as the first: %v, want ErrGap", err)
	}
	b := grow(t, l, entry.Batch{}, 1, 1)
	if seq, id, err := l.Last(t.Context()); seq != 1 || id != b.ID || err != nil {
		t.Errorf("last: %d, %v, %v", seq, id, err)
	}
}

// What was appended is read, entry by entry.
func checkEqual(t *testing.T, l subject) {
	var last entry.Batch
	rapid.Check(t, func(r *rapid.T) {
		b := after(last, 1)
		b.By, b.Entries = rapid.Int64().Draw(r, "by"), drawEntries(r)
		at, err := l.Append(t.Context(), b)
		if err != nil {
			r.Fatal(err)
		}
		before := last
		b.At, last = at, b
		last.At = at
		got, err := l.Read(t.Context(), before.Seq, 2)
		if diff := differ([]entry.Batch{b}, got); diff != "" || err != nil {
			r.Fatalf("%v, written (-) and read (+):\n%s", err, diff)
		}
	})
	all := readAll(t, l, 0)
	if len(all) == 0 || all[len(all)-1].Seq != last.Seq || int64(len(all)) != last.Seq {
		t.Errorf("%d batches read, the last appended is %d", len(all), last.Seq)
	}
}

// The log has the number of a site version alone.
func checkSite(t *testing.T, l subject) {
	b := after(entry.Batch{}, 1)
	b.Entries = []entry.Entry{entry.Adopted{Number: 7, Site: &shares.Version{Number: 7}}}
	if _, err := l.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	got := readAll(t, l, 0)
	if diff := differ([]entry.Entry{entry.Adopted{Number: 7}}, got[0].Entries); diff != "" {
		t.Error(diff)
	}
	if b.Entries[0].(entry.Adopted).Site == nil {
		t.Error("the writer's own entry lost its site")
	}
}

// What could not be read back as it is, is not written.
func checkRefused(t *testing.T, l subject) {
	first := grow(t, l, entry.Batch{}, 1, 1)
	for name, spoil := range map[string]func(*entry.Batch){
		"seq 0":               func(b *entry.Batch) { b.Seq = 0 },
		"no id":               func(b *entry.Batch) { b.ID = entry.ID{} },
		"no predecessor":      func(b *entry.Batch) { b.After = entry.ID{} },
		"the first has one":   func(b *entry.Batch) { b.Seq = 1 },
		"no entry":            func(b *entry.Batch) { b.Entries = []entry.Entry{nil} },
		"a pointer":           func(b *entry.Batch) { b.Entries = []entry.Entry{&entry.Tick{}} },
		"NUL":                 func(b *entry.Batch) { b.Entries = []entry.Entry{entry.Granted{Pilot: "a\x00"}} },
		"NUL in jsonb":        func(b *entry.Batch) { b.Entries = []entry.Entry{entry.Leader{Address: "a\x00"}} },
		"not UTF-8":           func(b *entry.Batch) { b.Entries = []entry.Entry{entry.Granted{Node: "\xff"}} },
		"not UTF-8 in jsonb":  func(b *entry.Batch) { b.Entries = []entry.Entry{entry.Revoked{Reason: "\xff"}} },
		"no outcome":          func(b *entry.Batch) { b.Entries = []entry.Entry{entry.Ended{Next: entry.Over}} },
		"an outcome of 8 bit": func(b *entry.Batch) { b.Entries = []entry.Entry{entry.Ended{Outcome: 0xe9, Next: entry.Over}} },
	} {
		b := after(first, 1)
		spoil(&b)
		if _, err := l.Append(t.Context(), b); err == nil || errors.Is(err, ErrTaken) || errors.Is(err, ErrGap) || errors.Is(err, ErrDoubt) {
			t.Errorf("%s: %v, want a refusal", name, err)
		}
	}
	if all := readAll(t, l, 0); len(all) != 1 {
		t.Errorf("%d batches, want the first alone", len(all))
	}
}

func checkTaken(t *testing.T, l subject) {
	third := grow(t, l, entry.Batch{}, 1, 3)
	for name, b := range map[string]entry.Batch{
		"the newest again":            third,
		"another's of the same seq":   {Seq: 3, ID: id(2, 3), After: third.After},
		"the same, wrong predecessor": {Seq: 3, ID: id(2, 3), After: id(2, 2)},
		"an old one":                  {Seq: 2, ID: id(2, 2), After: id(1, 1)},
		"the first":                   {Seq: 1, ID: id(2, 1)},
	} {
		if _, err := l.Append(t.Context(), b); !errors.Is(err, ErrTaken) {
			t.Errorf("%s: %v, want ErrTaken", name, err)
		}
	}
	all := readAll(t, l, 0)
	if len(all) != 3 || all[2].ID != third.ID {
		t.Errorf("%v", all)
	}
	if more, err := l.Read(t.Context(), 99, 10); len(more) != 0 || err != nil {
		t.Errorf("after the end: %v, %v", more, err)
	}
}

func checkGap(t *testing.T, l subject) {
	second := grow(t, l, entry.Batch{}, 1, 2)
	for name, b := range map[string]entry.Batch{
		"two ahead":             {Seq: 4, ID: id(1, 4), After: id(1, 3)},
		"far ahead":             {Seq: 1 << 40, ID: id(1, 4), After: second.ID},
		"another's predecessor": {Seq: 3, ID: id(1, 3), After: id(2, 2)},
	} {
		if _, err := l.Append(t.Context(), b); !errors.Is(err, ErrGap) {
			t.Errorf("%s: %v, want ErrGap", name, err)
		}
	}
	grow(t, l, second, 1, 1)
	if all := readAll(t, l, 0); len(all) != 3 {
		t.Errorf("%v", all)
	}
}

// The clock of the database is put back: time stands still until it has caught up.
func checkTime(t *testing.T, l subject) {
	first := grow(t, l, entry.Batch{}, 1, 1)
	l.advance(time.Hour)
	third := grow(t, l, first, 1, 2)
	if want := first.At.Add(time.Hour); !third.At.Equal(want) {
		t.Errorf("the third is of %v, want %v", third.At, want)
	}
	if all := readAll(t, l, 0); !all[2].At.Equal(third.At) || all[2].At.Location() != time.UTC {
		t.Errorf("read %v, answered %v", all[2].At, third.At)
	}
}

// Eight writers race: one chain, and each row is of the one that was told so.
func checkRace(t *testing.T, l subject) {
	const writers = 8
	want := int64(pgtest.Draws(800))
	var won sync.Map
	var lost atomic.Int64
	var all sync.WaitGroup
	for w := range byte(writers) {
		all.Go(func() {
			for try := int64(1); ; try++ {
				seq, before, err := l.Last(t.Context())
				if err != nil {
					t.Error(err)
				}
				if err != nil || seq >= want {
					return
				}
				b := entry.Batch{Seq: seq + 1, ID: id(w+1, try), After: before, By: int64(w), Entries: []entry.Entry{entry.Tick{}}}
				at, err := l.Append(t.Context(), b)
				if b.At = at; errors.Is(err, ErrTaken) {
					lost.Add(1)
				} else if err != nil {
					t.Error(err)
					return
				} else if other, twice := won.LoadOrStore(b.Seq, b); twice {
					t.Errorf("seq %d was given to %v and %v", b.Seq, other, b.ID)
				}
			}
		})
	}
	all.Wait()
	chain := readAll(t, l, 0)
	for i, b := range chain {
		if mine, _ := won.Load(b.Seq); differ(mine, b) != "" {
			t.Errorf("seq %d: its writer was told of %v, the log has %v", b.Seq, mine, b)
		}
		if i > 0 && b.At.Before(chain[i-1].At) {
			t.Errorf("seq %d: its time is before that of the batch before", b.Seq)
		}
	}
	if n := int64(len(chain)); n < want || n != chain[n-1].Seq {
		t.Errorf("%d batches, want %d without gaps", n, want)
	}
	t.Logf("%d appends came too late", lost.Load())
}

// A writer that was paused for a while can write nothing, however often it tries.
func checkPaused(t *testing.T, l subject) {
	first := grow(t, l, entry.Batch{}, 1, 1)
	paused := after(first, 1)
	grow(t, l, first, 2, 5)
	for range 3 {
		if _, err := l.Append(t.Context(), paused); !errors.Is(err, ErrTaken) {
			t.Errorf("%v, want ErrTaken", err)
		}
	}
	next, err := l.Read(t.Context(), first.Seq, 10)
	if err != nil || len(next) != 5 || next[0].ID == paused.ID || next[0].After != first.ID {
		t.Errorf("%v, %v: want the five of the other writer", next, err)
	}
}

// A failover lost the end of the chain: who has applied it can write nothing, before others go on and after.
func checkFailOver(t *testing.T, l subject) {
	third := grow(t, l, entry.Batch{}, 1, 3)
	ahead := grow(t, l, third, 1, 2)
	l.failOver(third.Seq)
	if _, err := l.Append(t.Context(), after(ahead, 1)); !errors.Is(err, ErrGap) {
		t.Errorf("two rows ahead: %v, want ErrGap", err)
	}
	if b, err := l.Read(t.Context(), ahead.Seq, 10); len(b) != 0 || err != nil {
		t.Errorf("%v, %v: want nothing", b, err)
	}
	other := grow(t, l, third, 2, 2)
	if _, err := l.Append(t.Context(), after(ahead, 1)); !errors.Is(err, ErrGap) {
		t.Errorf("on another's batch of its number: %v, want ErrGap", err)
	}
	grow(t, l, other, 2, 1)
	if _, err := l.Append(t.Context(), after(ahead, 1)); !errors.Is(err, ErrTaken) {
		t.Errorf("behind the others: %v, want ErrTaken", err)
	}
	if b, err := l.Read(t.Context(), ahead.Seq, 10); err != nil || len(b) != 1 || b[0].After == ahead.ID {
		t.Errorf("%v, %v: want a batch that does not follow", b, err)
	}
}

func checkRetain(t *testing.T, l subject) {
	const folded = 25
	last := grow(t, l, entry.Batch{}, 1, 35)
	if n, err := l.retain(t.Context(), time.Now().Add(-time.Hour), 35); n != 0 || err != nil {
		t.Errorf("%d dropped, %v: none is old", n, err)
	}
	if n, err := l.retain(t.Context(), time.Now().Add(time.Hour), 0); n != 0 || err != nil {
		t.Errorf("%d dropped, %v: none is folded", n, err)
	}
	if n, err := l.retain(t.Context(), time.Now().Add(time.Hour), folded); n == 0 || err != nil {
		t.Errorf("%d dropped, %v", n, err)
	}
	if b, err := l.Read(t.Context(), 0, 10); !errors.Is(err, ErrDropped) {
		t.Errorf("from the beginning: %v, %v, want ErrDropped", b, err)
	}
	if all := readAll(t, l, folded); len(all) != 10 || all[9].ID != last.ID {
		t.Errorf("%d after %d, want 10", len(all), folded)
	}
	for _, seq := range []int64{1, 2, 5} { // of a daemon that slept since then
		b := entry.Batch{Seq: seq, ID: id(2, seq), After: id(1, seq-1)}
		if seq == 1 {
			b.After = entry.ID{}
		}
		if _, err := l.Append(t.Context(), b); !errors.Is(err, ErrTaken) {
			t.Errorf("append %d: %v, want ErrTaken", seq, err)
		}
	}
	if _, err := l.retain(t.Context(), time.Now().Add(time.Hour), 1<<40); err != nil {
		t.Error(err)
	}
	if seq, id, err := l.Last(t.Context()); seq != 35 || id != last.ID || err != nil {
		t.Errorf("last: %d, %v, %v: the newest must stay", seq, id, err)
	}
	grow(t, l, last, 1, 1)
}

// The answer of an append is lost. The writer appends the same batch again, and Read tells.
func checkDoubt(t *testing.T, l subject) {
	last := grow(t, l, entry.Batch{}, 1, 2)
	for _, applied := range []bool{true, false} {
		b := after(last, 1)
		if _, err := l.doubtful(applied).Append(t.Context(), b); !errors.Is(err, ErrDoubt) {
			t.Fatalf("applied %v: %v, want ErrDoubt", applied, err)
		}
		there, err := l.Read(t.Context(), last.Seq, 10)
		if err != nil || (len(there) == 1 && there[0].ID == b.ID) != applied {
			t.Errorf("applied %v: read %v, %v", applied, there, err)
		}
		if _, err := l.Append(t.Context(), b); errors.Is(err, ErrTaken) != applied || !applied && err != nil {
			t.Errorf("applied %v: again: %v", applied, err)
		}
		if there, err = l.Read(t.Context(), last.Seq, 10); err != nil || len(there) != 1 || there[0].ID != b.ID {
			t.Errorf("applied %v: %v, %v: want it once", applied, there, err)
		}
		last = b
	}
	b := after(last, 1)
	if _, err := l.doubtful(false).Append(t.Context(), b); !errors.Is(err, ErrDoubt) {
		t.Fatal(err)
	}
	grow(t, l, last, 2, 1)
	if _, err := l.Append(t.Context(), b); !errors.Is(err, ErrTaken) {
		t.Errorf("somebody else was faster: %v, want ErrTaken", err)
	}
	if there, err := l.Read(t.Context(), last.Seq, 10); err != nil || len(there) != 1 || there[0].By != 2 {
		t.Errorf("%v, %v: want the other's", there, err)
	}
}
