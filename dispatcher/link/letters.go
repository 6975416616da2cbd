package link

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/ledger"
)

// envelope is what one daemon sends another at once: messages in their order.
type envelope struct {
	From    int64
	Letters []letter
}

// letter is a lease.Message as JSON.
type letter struct {
	Asks    []lease.Ask    `json:",omitempty"`
	Answers []lease.Answer `json:",omitempty"`
	Batches []sheet        `json:",omitempty"`
	HandOn  bool           `json:",omitempty"`
	Written bool           `json:",omitempty"`
}

// sheet is a batch.
type sheet struct {
	Seq       int64
	ID, After entry.ID
	At        time.Time
	By        int64
	Entries   json.RawMessage
}

// pack makes a text of messages.
func pack(from int64, messages []lease.Message) ([]byte, error) {
	e := envelope{From: from, Letters: make([]letter, len(messages))}
	for i, m := range messages {
		l := letter{Asks: m.Asks, Answers: m.Answers, HandOn: m.HandOn, Written: m.Written}
		for _, b := range m.Batches {
			text, err := ledger.Marshal(b.Entries)
			if err != nil {
				return nil, fmt.Errorf("batch %d: %w", b.Seq, err)
			}
			l.Batches = append(l.Batches, sheet{b.Seq, b.ID, b.After, b.At, b.By, text})
		}
		e.Letters[i] = l
	}
	return json.Marshal(e)
}

func (ls *Links) pack(messages []lease.Message) ([]byte, error) {
	return pack(ls.cfg.Self.ID, messages)
}

// unpack reads them. Batches from one on that adopts a version of the site are left out: the reader finds them in the log.
func unpack(text []byte) (from int64, messages []lease.Message, err error) {
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return 0, nil, fmt.Errorf("a message of another daemon: %w", err)
	}
	for _, l := range e.Letters {
		m := lease.Message{Asks: l.Asks, Answers: l.Answers, HandOn: l.HandOn, Written: l.Written}
		for _, s := range l.Batches {
			b := entry.Batch{Seq: s.Seq, ID: s.ID, After: s.After, At: s.At.UTC(), By: s.By}
			if b.Entries, err = ledger.Unmarshal(s.Entries); err != nil {
				return 0, nil, fmt.Errorf("batch %d of another daemon: %w", s.Seq, err)
			}
			if slices.ContainsFunc(b.Entries, adopts) {
				break
			}
			m.Batches = append(m.Batches, b)
		}
		messages = append(messages, m)
	}
	return e.From, messages, nil
}

// adopts says whether an entry needs a version of the site, which no message has. That the number is known already does not do: states of
// queues may be others.
func adopts(e entry.Entry) bool {
	_, ok := e.(entry.Adopted)
	return ok
}
