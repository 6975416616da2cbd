package link

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/shares"
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

// unpack reads them. Batches from one on whose site the reader has not got are left out: it finds them in the log.
func unpack(text []byte, site func(number int64) *shares.Version) (from int64, messages []lease.Message, err error) {
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
			if !sited(b.Entries, site) {
				break
			}
			m.Batches = append(m.Batches, b)
		}
		messages = append(messages, m)
	}
	return e.From, messages, nil
}

// sited completes Adopted entries; false: it has not got the version.
func sited(entries []entry.Entry, site func(number int64) *shares.Version) bool {
	for i, e := range entries {
		if a, ok := e.(entry.Adopted); ok {
			if a.Site = site(a.Number); a.Site == nil {
				return false
			}
			entries[i] = a
		}
	}
	return true
}
