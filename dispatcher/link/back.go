package link

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
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
	put   []question    // to the peer
	gone  chan struct{} // closed when there is no way back any more
}

// question is what a peer is asked over the connection that it made. It says its answer by a call.
type question struct {
	Number uint64 `json:"number"`
	Path   string `json:"path"`
	Body   []byte `json:"body"`
}

// said is the answer to a question of this number.
type said struct {
	Number uint64      `json:"number"`
	Reply  relay.Reply `json:"reply"`
}

const (
	backPath = "/lease/back"
	toldPath = "/lease/told"
	backWait = time.Second      // for which one ask for messages waits
	backKept = 2 * time.Second  // a peer that says nothing for so long has no connection any more
	backMost = 30 * time.Second // for which an answer to one question is looked for
)

// backOf is the way back to a peer, which said something just now. ls.mu is held.
func (ls *Links) backOf(id int64) *back {
	b := ls.backs[id]
	if b == nil {
		b = &back{rouse: make(chan struct{}, 1), gone: make(chan struct{})}
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
			close(b.gone)
		}
	}
	if len(ls.backs) < n {
		ls.reach()
	}
}

// askBack puts a question to a peer that made a connection to this daemon.
func (ls *Links) askBack(ctx context.Context, to int64, path string, body []byte) (relay.Reply, error) {
	ls.mu.Lock()
	b := ls.backs[to]
	if b == nil || len(b.put) >= mostWait {
		ls.mu.Unlock()
		return relay.Reply{}, ErrApart
	}
	ls.lastAsked++
	number, got := ls.lastAsked, make(chan relay.Reply, 1)
	ls.asked[number] = got
	b.put = append(b.put, question{number, path, body})
	wake(b.rouse)
	ls.mu.Unlock()
	defer func() {
		ls.mu.Lock()
		delete(ls.asked, number)
		ls.mu.Unlock()
	}()
	select {
	case r := <-got:
		return r, nil
	case <-b.gone:
		return relay.Reply{}, relay.ErrBroken
	case <-ctx.Done():
		return relay.Reply{}, ctx.Err()
	}
}

// told takes the answer to a question, whose caller may have gone.
func (ls *Links) told(body []byte) relay.Reply {
	var s said
	if err := json.Unmarshal(body, &s); err != nil {
		return relay.Reply{Status: http.StatusBadRequest}
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if got := ls.asked[s.Number]; got != nil {
		delete(ls.asked, s.Number)
		got <- s.Reply
	}
	return relay.Reply{Status: http.StatusNoContent}
}

// tell answers a question of a peer over the connection that this daemon made to it.
func (ls *Links) tell(ctx context.Context, conn *relay.Conn, text []byte) {
	var q question
	if err := json.Unmarshal(text, &q); err != nil {
		ls.cfg.Log.Warn("a question of another daemon is not understood", "err", err)
		return
	}
	ls.mu.Lock()
	questions := ls.questions
	ls.mu.Unlock()
	s := said{Number: q.Number, Reply: relay.Reply{Status: http.StatusServiceUnavailable}}
	ctx, cancel := context.WithTimeout(ctx, backMost)
	defer cancel()
	if questions != nil {
		s.Reply = questions(ctx, q.Path, q.Body)
	}
	answer, err := json.Marshal(s)
	if err != nil {
		ls.cfg.Log.Error("an answer to another daemon cannot be written", "err", err)
		return
	}
	_, _ = conn.Call(ctx, toldPath, answer) // without a connection there is no caller
}

// giveBack answers a peer that asks for messages, when there are some, or a question.
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
	messages, asked := b.take(ctx, &ls.mu)
	switch {
	case asked != nil:
		text, err := json.Marshal(asked)
		if err != nil {
			return relay.Reply{Status: http.StatusInternalServerError}
		}
		return relay.Reply{Status: http.StatusAccepted, Body: text}
	case len(messages) == 0:
		return relay.Reply{Status: http.StatusNoContent}
	}
	text, err := ls.sheets.pack(ls.cfg.Self.ID, messages, bytes.Equal(its, form[:]))
	if err != nil {
		ls.cfg.Log.Error("a message between daemons cannot be written", "err", err)
		return relay.Reply{Status: http.StatusInternalServerError}
	}
	return relay.Reply{Status: http.StatusOK, Body: text}
}

// take is what there is for an ask of the peer: messages, else a question. What an ask gets that is over is lost.
func (b *back) take(ctx context.Context, mu *sync.Mutex) (messages []lease.Message, asked *question) {
	mu.Lock()
	defer mu.Unlock()
	b.asks--
	messages, b.queue = b.queue, nil
	if ctx.Err() != nil {
		return nil, nil
	}
	if len(messages) == 0 && len(b.put) > 0 {
		asked, b.put = &b.put[0], b.put[1:]
	}
	if len(b.put) > 0 {
		wake(b.rouse)
	}
	return messages, asked
}

// listen takes what a peer has to say over the connection that this daemon made to it, until the connection breaks.
func (ls *Links) listen(ctx context.Context, conn *relay.Conn) {
	self := append(append(strconv.AppendInt(nil, ls.cfg.Self.ID, 10), ' '), form[:]...)
	ctx, leave := context.WithCancel(ctx)
	var answers sync.WaitGroup
	defer answers.Wait()
	defer leave()
	for ctx.Err() == nil {
		within, cancel := context.WithTimeout(ctx, backWait+relay.Silence)
		r, err := conn.Call(within, backPath, self)
		cancel()
		switch {
		case err != nil:
			return
		case r.Status == http.StatusOK:
			ls.deliver(r.Body, false)
		case r.Status == http.StatusAccepted:
			answers.Go(func() { ls.tell(ctx, conn, r.Body) })
		case r.Status != http.StatusNoContent: // it is not ready, or of a version that has nothing of the kind
			select {
			case <-ctx.Done():
			case <-time.After(backWait):
			}
		}
	}
}
