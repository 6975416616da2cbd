package link

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/internal/relay"
)

// ear is a dispatcher that only listens.
type ear struct {
	mu    sync.Mutex
	heard []uint64 // numbers of asks and answers
	there []int64
	on    func(from int64, m lease.Message)
}

func (e *ear) Receive(from int64, m lease.Message) {
	e.mu.Lock()
	for _, a := range m.Asks {
		e.heard = append(e.heard, a.Call.Number)
	}
	for _, a := range m.Answers {
		e.heard = append(e.heard, a.Call.Number)
	}
	e.mu.Unlock()
	if e.on != nil {
		e.on(from, m)
	}
}

func (e *ear) Reach(daemons []int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.there = daemons
}

func (e *ear) is(t *testing.T, what string, is func(e *ear) bool) {
	t.Helper()
	for range 2000 {
		e.mu.Lock()
		ok := is(e)
		e.mu.Unlock()
		if ok {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%s: %+v", what, e)
}

// A daemon that cannot be called is answered, and told all else, over the connection that it made, in order; when it goes it is not there any more.
func TestWayBack(t *testing.T) {
	done, secret := make(chan struct{}), func(_ context.Context, id int64) (string, error) { return fmt.Sprint("secret ", id), nil }
	called := New(Config{Self: Peer{ID: 1, Address: "callee:1", Secret: "secret 1"}, SecretOf: secret,
		Peers: func(context.Context) ([]Peer, error) { return []Peer{{ID: 2}}, nil }})
	srv := httptest.NewServer(called.Handler(done, func(context.Context, string, []byte) relay.Reply { return relay.Reply{Status: 404} }))
	defer srv.Close()
	defer close(done)
	calls := New(Config{Self: Peer{ID: 2, Address: "nowhere:1", Secret: "secret 2"}, SecretOf: secret,
		Peers: func(context.Context) ([]Peer, error) {
			return []Peer{{ID: 1, Address: srv.Listener.Addr().String(), Secret: "secret 1"}}, nil
		}})
	callee, caller := &ear{}, &ear{}
	callee.on = func(from int64, m lease.Message) { // at once, as a leader does that knows the answer
		called.Send(from, lease.Message{Answers: []lease.Answer{{Call: lease.Call{Number: 1000 + m.Asks[0].Call.Number}}}})
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	all.Go(func() { called.Run(ctx, callee) })
	callee.is(t, "it looked for peers", func(e *ear) bool { return e.there != nil || called.backs != nil })
	own, leave := context.WithCancel(ctx)
	defer leave()
	all.Go(func() { calls.Run(own, caller) })
	caller.is(t, "the caller reaches the callee", func(e *ear) bool { return slices.Equal(e.there, []int64{1}) })
	var want []uint64
	for n := range uint64(50) {
		calls.Send(1, lease.Message{Asks: []lease.Ask{{Call: lease.Call{Number: n}}}})
		want = append(want, 1000+n)
	}
	caller.is(t, "answers come back in order", func(e *ear) bool { return slices.Equal(e.heard, want) })
	callee.is(t, "the callee reaches the caller", func(e *ear) bool { return slices.Equal(e.there, []int64{2}) })
	if r, err := called.Ask(t.Context(), 2, "x", []byte("y")); err != nil || r.Status != 503 {
		t.Errorf("a caller that answers no questions yet: %+v, %v", r, err)
	}
	calls.Handler(done, func(_ context.Context, path string, body []byte) relay.Reply {
		return relay.Reply{Status: 200, Body: []byte(path + string(body))}
	})
	var asks sync.WaitGroup
	for n := range 20 {
		asks.Go(func() {
			if r, err := called.Ask(t.Context(), 2, fmt.Sprint("x", n), []byte("y")); err != nil || string(r.Body) != fmt.Sprint("x", n, "y") {
				t.Errorf("question %d to the caller: %+v, %v", n, r, err)
			}
		})
	}
	asks.Wait()
	waits, gone := make(chan struct{}), make(chan struct{})
	calls.Handler(done, func(context.Context, string, []byte) relay.Reply {
		close(waits)
		<-gone // else its answer could still arrive
		return relay.Reply{}
	})
	asks.Go(func() {
		if _, err := called.Ask(t.Context(), 2, "x", nil); !errors.Is(err, relay.ErrBroken) {
			t.Errorf("the caller went before it answered: %v", err)
		}
	})
	<-waits
	leave()
	callee.is(t, "the caller is gone", func(e *ear) bool { return len(e.there) == 0 })
	asks.Wait()
	close(gone)
	if _, err := called.Ask(t.Context(), 2, "x", nil); !errors.Is(err, ErrApart) {
		t.Errorf("a question to one that is gone: %v", err)
	}
}
