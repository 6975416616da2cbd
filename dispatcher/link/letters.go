package link

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
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

// letter is a lease.Message.
type letter struct {
	Asks    []lease.Ask    `json:",omitempty"`
	Answers []lease.Answer `json:",omitempty"`
	Sheets  []sheet        `json:",omitempty"`
	HandOn  bool           `json:",omitempty"`
	Written bool           `json:",omitempty"`
}

// sheet is a batch. Daemons of versions with other sheets find none, and read the log.
type sheet struct {
	Seq       int64
	ID, After entry.ID
	At        time.Time
	By        int64
	Columns   *ledger.Columns
}

// errForm says that another daemon is of a version whose messages have another form: it takes JSON.
var errForm = errors.New("the form of the message is another one")

// sheets remembers the newest batches, which go to all followers.
type sheets struct {
	mu   sync.Mutex
	last [64]sheet
}

func (k *sheets) of(b *entry.Batch) (sheet, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	kept := &k.last[b.Seq&63]
	if kept.ID == b.ID {
		return *kept, nil
	}
	columns, err := ledger.Pack(b.Entries)
	if err != nil {
		return sheet{}, fmt.Errorf("batch %d: %w", b.Seq, err)
	}
	*kept = sheet{Seq: b.Seq, ID: b.ID, After: b.After, At: b.At, By: b.By, Columns: columns}
	return *kept, nil
}

func (s *sheet) batch() (b entry.Batch, err error) {
	b = entry.Batch{Seq: s.Seq, ID: s.ID, After: s.After, At: s.At.UTC(), By: s.By}
	if s.Columns == nil {
		return b, fmt.Errorf("batch %d of another daemon has no entries", s.Seq)
	}
	if b.Entries, err = s.Columns.Unpack(); err != nil {
		return b, fmt.Errorf("batch %d of another daemon: %w", s.Seq, err)
	}
	return b, nil
}

// pack makes a text of messages: in the compact form, or as JSON, which begins with another byte.
func (k *sheets) pack(from int64, messages []lease.Message, compact bool) ([]byte, error) {
	e := envelope{From: from, Letters: make([]letter, len(messages))}
	for i, m := range messages {
		l := letter{Asks: m.Asks, Answers: m.Answers, HandOn: m.HandOn, Written: m.Written}
		for b := range m.Batches {
			s, err := k.of(&m.Batches[b])
			if err != nil {
				return nil, err
			}
			l.Sheets = append(l.Sheets, s)
		}
		e.Letters[i] = l
	}
	if !compact {
		return json.Marshal(e)
	}
	return envelopes.put(append([]byte{0}, form[:]...), reflect.ValueOf(e)), nil
}

// unpack reads them. Batches from one on that adopts a version of the site are left out: the reader finds them in the log.
func unpack(text []byte) (from int64, messages []lease.Message, err error) {
	var e envelope
	switch {
	case len(text) == 0 || text[0] != 0:
		err = json.Unmarshal(text, &e)
	case len(text) <= len(form) || [8]byte(text[1:]) != form:
		err = errForm
	default:
		s := source{text: text[1+len(form):]}
		envelopes.get(&s, reflect.ValueOf(&e).Elem())
		err = s.err
	}
	if err != nil {
		return 0, nil, fmt.Errorf("a message of another daemon: %w", err)
	}
	for _, l := range e.Letters {
		m := lease.Message{Asks: l.Asks, Answers: l.Answers, HandOn: l.HandOn, Written: l.Written}
		for i := range l.Sheets {
			b, err := l.Sheets[i].batch()
			if err != nil {
				return 0, nil, err
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
