package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

// Why a batch was not appended, or not read.
var (
	ErrTaken   = errors.New("the sequence number is taken")                   // maybe by an earlier append of the same batch: Read tells
	ErrGap     = errors.New("the batch before it is not there")               // a failover lost it, or its append is not committed yet
	ErrDoubt   = errors.New("it is not known whether the batch was written")  // the cause is wrapped too
	ErrGone    = errors.New("rows of the outbox are not there")               // others took them: read the outbox again
	ErrDropped = errors.New("batches after the sequence number are not kept") // start from the folded tables
	ErrUnknown = errors.New("the batch is of a newer version")                // the message names its seq and kind
	ErrBroken  = errors.New("the log contradicts itself")                     // a row is damaged or was changed by hand
)

// Log is what a daemon needs of the ledger.
type Log interface {
	// Append writes b as the batch after the one with the id b.After, and returns the time that it was given; b.At is ignored.
	// Errors: see the package's invariant 6.
	Append(ctx context.Context, b entry.Batch) (at time.Time, err error)
	// AppendWith is Append, and writes what stands beside the batch in the same transaction: all of it, or nothing.
	AppendWith(ctx context.Context, b entry.Batch, beside Beside) (at time.Time, err error)
	// Read returns up to most batches after seq, in order and without gaps; none when there is nothing newer. The After of the
	// first shows whether it continues what the caller has. ErrDropped when some of them are dropped already.
	Read(ctx context.Context, seq int64, most int) ([]entry.Batch, error)
	// Last returns seq and id of the newest batch; zero when the log is empty.
	Last(ctx context.Context) (seq int64, id entry.ID, err error)
}

// CheckBatch refuses a batch, or what stands beside it, that could not be read back as it is.
func CheckBatch(b entry.Batch, beside *Beside) error {
	switch {
	case b.Seq < 1:
		return fmt.Errorf("append batch %d: the first has 1", b.Seq)
	case b.ID == entry.ID{}:
		return fmt.Errorf("append batch %d: it has no id", b.Seq)
	case (b.After == entry.ID{}) != (b.Seq == 1):
		return fmt.Errorf("append batch %d: every batch but the first names the one before it", b.Seq)
	}
	if err := cmp.Or(Check(b.Entries), beside.check()); err != nil {
		return fmt.Errorf("append batch %d: %w", b.Seq, err)
	}
	return nil
}

// Check refuses entries that no log could keep as they are.
func Check(entries []entry.Entry) error {
	for i, e := range entries {
		if err := checkEntry(e); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
	}
	return nil
}

func checkEntry(e entry.Entry) error {
	switch e := e.(type) {
	case entry.Granted:
		return checkTexts(e.Pilot, e.Node)
	case entry.Ended:
		return checkLetters(byte(e.Outcome), byte(e.Next))
	case entry.Started:
		return nil
	case nil:
		return errors.New("no entry")
	}
	return checkRare(e)
}

// checkLetters refuses what is no letter or sign of ASCII.
func checkLetters(letters ...byte) error {
	for _, c := range letters {
		if c <= ' ' || c > '~' {
			return fmt.Errorf("%q is no letter", c)
		}
	}
	return nil
}

// checkTexts refuses what PostgreSQL's text cannot hold.
func checkTexts(texts ...string) error {
	for _, s := range texts {
		if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
			return fmt.Errorf("%q is not text: UTF-8 without NUL", s)
		}
	}
	return nil
}

// Chained returns the batches where they follow each other, the first on seq.
func Chained(seq int64, batches []entry.Batch) ([]entry.Batch, error) {
	for i, b := range batches {
		switch {
		case b.Seq == seq+1+int64(i) && (i == 0 || b.After == batches[i-1].ID):
		case i == 0 && b.Seq > seq+1:
			return nil, fmt.Errorf("read after %d: the oldest batch is %d: %w", seq, b.Seq, ErrDropped)
		default:
			return nil, fmt.Errorf("batch %d does not follow the one read before it: %w", b.Seq, ErrBroken)
		}
	}
	return batches, nil
}
