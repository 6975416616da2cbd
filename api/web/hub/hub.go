package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Bounds of a hub.
const (
	mostReaders = 1000             // open pages of a daemon
	mostTopics  = 300              // different views open at once
	mostBehind  = 16               // events that a reader may lag before it is dropped
	mostKept    = 32               // events of a topic kept for readers that come back
	keepTopic   = 30 * time.Second // how long a topic outlives its last reader, for the same
	buildWithin = 5 * time.Second
)

// ErrTooMany is returned for a page more than a daemon keeps open.
var ErrTooMany = errors.New("too many pages are open at this daemon")

// Hub tells open pages what has changed. A view is built once per round for all its readers. Publish is a background
// step; its ticker sets the length of a round.
type Hub struct {
	mu      sync.Mutex
	topics  map[string]*topic
	readers int
	closed  bool
}

// New returns a hub without readers.
func New() *Hub { return &Hub{topics: map[string]*topic{}} }

// Update is what of a page may change while it is open. Cells are texts by the key that an element names in data-live;
// with data-live-attr it is that attribute that changes, with data-live-row the element is a row
// whose data-x is the first of the texts between tabs, and whose last cells are the others. When Shape differs from the page's, rows came or went and
// the page asks for its HTML again.
type Update struct {
	Shape string            `json:"shape,omitempty"`
	Cells map[string]string `json:"cells,omitempty"`
	HTML  string            `json:"html,omitempty"` // of the block "live"
}

// Build makes a view; at is when what it shows was so.
type Build func(context.Context) (u Update, at time.Time, err error)

// topic is one view with its parameters. Only Publish changes seq, last and at, under the hub's lock.
type topic struct {
	build   Build
	epoch   string // distinguishes event ids of this life of the topic from earlier lives
	seq     int64
	last    Update
	at      time.Time
	whole   []byte // the event with all of last; nil: not needed yet
	kept    []event
	readers map[*reader]struct{}
	left    time.Time // when the last reader left
}

type event struct {
	seq  int64
	text []byte // as it is sent
}

// reader is one open page.
type reader struct {
	topic  *topic
	events chan []byte // closed: the reader was too slow, or the hub has closed
}

// message is the data of an event.
type message struct {
	At time.Time `json:"at"`
	Update
	Failed bool `json:"failed,omitempty"` // the view cannot be built now: the page shows the age of what it has
}

// subscribe adds a reader to a topic. first is what the page needs before the next event; it may be empty.
func (h *Hub) subscribe(key, lastID string, build Build) (r *reader, first []byte, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[key]
	switch {
	case h.closed || h.readers >= mostReaders, t == nil && len(h.topics) >= mostTopics:
		return nil, nil, ErrTooMany
	case t == nil:
		t = &topic{build: build, epoch: strconv.FormatInt(time.Now().UnixNano(), 36), readers: map[*reader]struct{}{}}
		h.topics[key] = t
	}
	h.readers++
	r = &reader{topic: t, events: make(chan []byte, mostBehind)}
	t.readers[r] = struct{}{}
	return r, t.since(lastID), nil
}

// since returns what a reader has missed that saw the event with this id: the later events, or the whole view.
func (t *topic) since(id string) []byte {
	epoch, n, _ := strings.Cut(id, "-")
	seen, err := strconv.ParseInt(n, 10, 64)
	if err == nil && epoch == t.epoch && seen <= t.seq && seen >= t.seq-int64(len(t.kept)) {
		var all []byte
		for _, e := range t.kept {
			if e.seq > seen {
				all = append(all, e.text...)
			}
		}
		return all
	}
	if t.seq == 0 {
		return nil
	}
	if t.whole == nil {
		t.whole = t.event(message{At: t.at, Update: t.last})
	}
	return t.whole
}

// event encodes a message under the topic's present number.
func (t *topic) event(m message) []byte {
	body, err := json.Marshal(m)
	if err != nil {
		panic(err) // cannot happen: the fields are texts
	}
	var b bytes.Buffer
	b.WriteString("id: " + t.epoch + "-" + strconv.FormatInt(t.seq, 10) + "\nevent: update\ndata: ")
	b.Write(body)
	b.WriteString("\n\n")
	return b.Bytes()
}

// leave removes a reader. It may be called twice.
func (h *Hub) leave(r *reader) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(r)
}

func (h *Hub) drop(r *reader) {
	if _, there := r.topic.readers[r]; !there {
		return
	}
	delete(r.topic.readers, r)
	h.readers--
	close(r.events)
	if len(r.topic.readers) == 0 {
		r.topic.left = time.Now()
	}
}

// Publish builds every open view once and sends what differs. It returns the number of events sent, and the first
// error of a build; the other views are built nevertheless.
func (h *Hub) Publish(ctx context.Context) (n int, err error) {
	for _, t := range h.open() {
		u, at, broken := t.built(ctx)
		if ctx.Err() != nil {
			return n, ctx.Err()
		}
		if broken != nil && err == nil {
			err = broken
		}
		n += h.tell(t, u, at, broken)
	}
	return n, err
}

// open lists the topics with readers. It forgets topics that have had none for long.
func (h *Hub) open() (all []*topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, t := range h.topics {
		switch {
		case len(t.readers) > 0:
			all = append(all, t)
		case time.Since(t.left) > keepTopic:
			delete(h.topics, key)
		}
	}
	return all
}

func (t *topic) built(ctx context.Context) (Update, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, buildWithin)
	defer cancel()
	return t.build(ctx)
}

// tell sends the readers of a topic what differs.
func (h *Hub) tell(t *topic, u Update, at time.Time, broken error) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.seq++
	t.whole = nil
	m := message{At: at, Failed: broken != nil}
	if broken != nil {
		m.At = t.at
	} else {
		m.Update = u.since(t.last)
		t.last, t.at = u, at
	}
	e := event{t.seq, t.event(m)}
	t.kept = append(t.kept, e)
	if len(t.kept) > mostKept {
		t.kept = append([]event(nil), t.kept[1:]...)
	}
	for r := range t.readers {
		select {
		case r.events <- e.text:
			n++
		default:
			h.drop(r)
		}
	}
	return n
}

// since returns the part of u that differs from last.
func (u Update) since(last Update) Update {
	if u.HTML == last.HTML {
		u.HTML = ""
	}
	if u.Shape != last.Shape || last.Cells == nil {
		return u
	}
	cells := map[string]string{}
	for k, v := range u.Cells {
		if was, there := last.Cells[k]; !there || was != v {
			cells[k] = v
		}
	}
	u.Cells = cells
	return u
}

// Close ends all readers and refuses new ones, so that the HTTP server can stop.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, t := range h.topics {
		for r := range t.readers {
			h.drop(r)
		}
	}
}
