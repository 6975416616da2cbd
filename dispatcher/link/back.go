package link

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/internal/relay"
)

// back is what goes to a peer over the connection that it made: it asks for it again and again. So one direction is enough, and the answer to a
// daemon that has just started finds its way before this one has looked for peers.
type back struct {
	queue []lease.Message
	rouse chan struct{} // one place: there are messages
	asks  int           // that wait for messages
	heard time.Time     // when the peer last said anything
}

const (
	backPath = "/lease/back"
	backWait = time.Second     // for which one ask for messages waits
	backKept = 2 * time.Second // a peer that says nothing for so long has no connection any more
)

// backOf is the way back to a peer, which said something just now. ls.mu is held.
func (ls *Links) backOf(id int64) *back {
	b := ls.backs[id]
	if b == nil {
		b = &back{rouse: make(chan struct{}, 1)}
		ls.backs[id] = b
		ls.reach()
	}
	b.heard = time.Now()
	return b
}

// heardOf notes that a peer has a connection to this daemon.
func (ls *Links) heardOf(id int64) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.backOf(id)
}

// forget ends the ways back to peers that are gone.
func (ls *Links) forget() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	n := len(ls.backs)
	for id, b := range ls.backs {
		if b.asks == 0 && time.Since(b.heard) > backKept {
			delete(ls.backs, id)
		}
	}
	if len(ls.backs) < n {
		ls.reach()
	}
}

// giveBack answers a peer that asks for messages, when there are some.
func (ls *Links) giveBack(ctx context.Context, body []byte) relay.Reply {
	number, its, _ := bytes.Cut(body, []byte{' '})
	id, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil {
		return relay.Reply{Status: http.StatusBadRequest}
	}
	ls.mu.Lock()
	b := ls.backOf(id)
	b.asks++
	ls.mu.Unlock()
	late := time.NewTimer(backWait)
	defer late.Stop()
	select {
	case <-b.rouse:
	case <-late.C:
	case <-ctx.Done():
	}
	ls.mu.Lock()
	b.asks--
	messages := b.queue
	if b.queue = nil; ctx.Err() != nil {
		messages = nil
	}
	ls.mu.Unlock()
	if len(messages) == 0 {
		return relay.Reply{Status: http.StatusNoContent}
	}
	text, err := ls.sheets.pack(ls.cfg.Self.ID, messages, bytes.Equal(its, form[:]))
	if err != nil {
		ls.cfg.Log.Error("a message between daemons cannot be written", "err", err)
		return relay.Reply{Status: http.StatusInternalServerError}
	}
	return relay.Reply{Status: http.StatusOK, Body: text}
}

// listen takes what a peer has to say over the connection that this daemon made to it, until the connection breaks.
func (ls *Links) listen(ctx context.Context, conn *relay.Conn) {
	self := append(append(strconv.AppendInt(nil, ls.cfg.Self.ID, 10), ' '), form[:]...)
	for ctx.Err() == nil {
		within, cancel := context.WithTimeout(ctx, backWait+relay.Silence)
		r, err := conn.Call(within, backPath, self)
		cancel()
		switch {
		case err != nil:
			return
		case r.Status == http.StatusOK:
			ls.deliver(r.Body, false)
		case r.Status != http.StatusNoContent: // it is not ready, or of a version that has nothing of the kind
			select {
			case <-ctx.Done():
			case <-time.After(backWait):
			}
		}
	}
}
