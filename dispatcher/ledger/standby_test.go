package ledger_test

import (
	"context"
	"errors"
	"testing"

	"github.com/divvyhq/divvy/dispatcher/entry"
	. "github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// The wait of an append for the standby is broken off: the primary shows the batch, and the standby may not have it. Appended again, it is
// not said to be there before the standby has it.
func TestDoubtWaitsForTheStandby(t *testing.T) {
	l := pgtest.NewLonely(t)
	log := New(l.Pool)
	if _, err := log.Extend(t.Context(), 10, 10); err != nil {
		t.Fatal(err)
	}
	b := entry.Batch{Seq: 1, ID: entry.ID{1}, By: 1, Entries: []entry.Entry{entry.Leader{}}}
	again := func(ctx context.Context) error {
		_, err := log.Append(ctx, b)
		if errors.Is(err, ErrTaken) {
			err = nil // an answer
		}
		return err
	}
	if err := again(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Seq, b.After, b.ID = 2, b.ID, entry.ID{2}
	l.Standby("nobody")
	l.BreakOff("an append", again)
	if read, err := log.Read(t.Context(), 1, 10); err != nil || len(read) != 1 || read[0].ID != b.ID {
		t.Fatalf("%v shows, %v; want the batch", read, err)
	}
	l.BreakOff("the same again", again)
	l.Standby("")
	if _, err := log.Append(t.Context(), b); !errors.Is(err, ErrTaken) {
		t.Fatalf("%v, want ErrTaken", err)
	}
}
