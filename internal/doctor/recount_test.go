package doctor

import (
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/replay"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// A log of 30 batches in partitions of 5, whose beginning is dropped, and checkpoints of batches 3, 12 and 22 of which the first goes with it.
func TestRecountWithoutTheBeginning(t *testing.T) {
	db := pgtest.Open(t)
	w := &ward{T: t, db: db, Doctor: New(Config{Direct: db, Deep: true, Connections: 4})}
	w.exec("DO $$ DECLARE p regclass; BEGIN FOR p IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'batches'::regclass LOOP EXECUTE 'DROP TABLE ' || p; END LOOP; END $$")
	log, store, m := ledger.New(db), replay.NewStore(db), machine.New(machine.Config{})
	folder := fold.New(db, log, nil)
	if _, err := log.Extend(t.Context(), 40, 5); err != nil {
		t.Fatal(err)
	}
	var id entry.ID
	for seq := int64(1); seq <= 30; seq++ {
		b := entry.Batch{Seq: seq, ID: entry.ID{1, byte(seq)}, After: id, By: 1, Entries: []entry.Entry{entry.Tick{Now: time.Unix(seq, 0).UTC()}}}
		if id = b.ID; seq == 1 {
			b.Entries = append(b.Entries, entry.Shaped{Shape: 1, Need: job.Requirements{Cores: 1}})
		}
		b.Entries = append(b.Entries, entry.Enqueued{Task: seq % 3, Share: 1, Shape: 1, Low: seq * 10, High: seq*10 + 4, Attempt: 1, User: "u"})
		if seq%4 == 0 {
			b.Entries = append(b.Entries, entry.Killed{Task: seq % 3, Low: seq * 10, High: seq*10 + 1, Reason: "r"})
		}
		at, err := log.Append(t.Context(), b)
		if err == nil {
			err = m.Advance(b)
		}
		if err != nil {
			t.Fatal(err)
		}
		if seq == 3 || seq == 12 || seq == 22 {
			w.exec("UPDATE replay_checkpoints SET at = at - interval '2 hours'") // one an hour is kept
			if n, err := store.Keep(t.Context(), replay.Take(m, at)); n == 0 || err != nil {
				t.Fatal(n, err)
			}
		}
	}
	if _, err := folder.Fold(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	recount := func(level Level, says ...string) {
		t.Helper()
		found, err := w.recount(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range found {
			found[i].Check = "recount"
		}
		w.want(&Report{Findings: found}, "recount", level, says...)
	}
	if found, err := w.recount(t.Context()); len(found) > 0 || err != nil {
		t.Errorf("with its beginning: %+v, %v", found, err)
	}
	if n, err := log.Retain(t.Context(), time.Now().Add(time.Hour), 12); n != 2 || err != nil {
		t.Fatalf("%d partitions dropped, %v", n, err)
	}
	recount(OK, "since batch 12 of", "not compared: what was over by then")
	w.exec("UPDATE share_counts SET ready = ready + 1")
	recount(Bad, "2 rows", "share_counts has", "since batch 12")
	w.exec("UPDATE share_counts SET ready = ready - 1; UPDATE over_ranges SET state = 'x' WHERE low = 40")
	recount(OK, "since batch 12 of") // it was over by then
	w.exec("UPDATE over_ranges SET state = 'x' WHERE low = 160")
	recount(Bad, "over_ranges has", "since batch 12")
	w.exec("UPDATE over_ranges SET state = 'c'; UPDATE replay_checkpoints SET packed = '\\x09' WHERE seq = 22")
	recount(OK, "since batch 12 of")
	if n, err := log.Retain(t.Context(), time.Now().Add(time.Hour), 15); n != 1 || err != nil {
		t.Fatalf("%d partitions dropped, %v", n, err)
	}
	recount(Warn, "not compared: ", "cannot be read", "another version of divvy")
	w.exec("DELETE FROM replay_checkpoints WHERE seq = 22")
	recount(Warn, "not compared: ", "no checkpoint is kept that it goes on from")
}
