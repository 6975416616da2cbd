package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/link"
	"github.com/divvyhq/divvy/internal/relay"
	"github.com/divvyhq/divvy/shares"
)

// house is daemons that reach each other by the relay on loopback.
type house struct {
	stage *stage
	site  shares.Version

	mu    sync.Mutex
	peers map[int64]link.Peer
}

// linked is one of them.
type linked struct {
	*Dispatcher
	links *link.Links
	id    int64
	kill  func()
}

// answer says how many pilots of a queue this daemon knows.
func (m *linked) answer(_ context.Context, path string, body []byte) relay.Reply {
	n := 0
	for _, q := range m.Queues() {
		if q.Name == string(body) {
			n = q.Pilots
		}
	}
	return relay.Reply{Status: http.StatusOK, Body: fmt.Append(nil, path, " ", n)}
}

func (h *house) secretOf(_ context.Context, id int64) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.peers[id].Secret, nil
}

func (h *house) all(context.Context) (list []link.Peer, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.peers {
		list = append(list, p)
	}
	return list, nil
}

// start starts a daemon with a port of its own.
func (h *house) start(t *testing.T, id int64) *linked {
	t.Helper()
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	m := &linked{id: id}
	self := link.Peer{ID: id, Address: srv.Listener.Addr().String(), Secret: fmt.Sprint("secret of ", id)}
	links := link.New(link.Config{Self: self, Peers: h.all, SecretOf: h.secretOf})
	d, err := Open(t.Context(), Config{Pool: h.stage.db, Outbox: h.stage.outbox, End: lease.Retried(3), Render: renderTrue, Daemon: id, Address: self.Address, Send: links.Send, Alone: links.Alone,
		Site: func(context.Context, int64) (shares.Version, error) { return h.site, nil }})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	mux.Handle(relay.Path, links.Handler(done, m.answer))
	h.mu.Lock()
	h.peers[id] = self
	h.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { d.Run(ctx) })
	all.Go(func() { links.Run(ctx, d) })
	var once sync.Once
	m.Dispatcher, m.links = d, links
	m.kill = func() {
		once.Do(func() {
			cancel()
			close(done)
			srv.CloseClientConnections()
			srv.Close()
			all.Wait()
		})
	}
	t.Cleanup(m.kill)
	return m
}

// leader is who wrote the last Leader entry, and when; before is the batch before it.
func (h *house) leader(t *testing.T) (by int64, at, before time.Time) {
	t.Helper()
	err := h.stage.db.QueryRow(t.Context(), `SELECT b.by, b.at, coalesce((SELECT a.at FROM batches a WHERE a.seq = b.seq - 1), b.at)
		FROM batches b WHERE b.kinds LIKE '%L%' ORDER BY b.seq DESC LIMIT 1`).Scan(&by, &at, &before)
	if err != nil {
		t.Fatal(err)
	}
	return by, at, before
}

// linksMost bounds all waits of TestLinks together, and linksSlow is what nothing in it takes on a machine that is not overloaded.
const (
	linksMost = 2 * time.Minute
	linksSlow = 5 * time.Second
)

// Three daemons over the relay: whoever is asked, the leader decides; when it is killed another one takes over after its silence.
func TestLinks(t *testing.T) {
	h := &house{stage: newTables(t), site: siteOf(20, 2), peers: map[int64]link.Peer{}}
	all := []*linked{h.start(t, 1), h.start(t, 2), h.start(t, 3)}
	h.stage.Dispatcher = all[0].Dispatcher
	h.stage.stock(t, h.site, 1000)
	waitFor(t, func() bool {
		return slices.IndexFunc(all, func(m *linked) bool { return m.site.now.Load() == nil }) < 0
	})
	// All of it takes 2 to 5 s, most of that for the silence. What takes longer says what it waited for.
	within, cancel := context.WithTimeout(t.Context(), linksMost)
	defer cancel()
	try := func(m *linked, what string, do func() error) {
		t.Helper()
		begun := time.Now()
		var last error
		waitFor(t, func() bool {
			err := do()
			if err != nil && within.Err() != nil {
				t.Fatalf("daemon %d, %s: not within %v of the test, %v of them here: %v, before %v; daemon %d leads", m.id, what, linksMost, time.Since(begun), err, last, m.Leader())
			}
			if err != nil {
				last = err
			}
			return err == nil
		})
		if took := time.Since(begun); took > linksSlow {
			t.Logf("daemon %d, %s: took %v, and was refused by %v", m.id, what, took, last)
		}
	}
	given := map[string]int64{}
	life := func(m *linked, n int) {
		t.Helper()
		var l Lease
		try(m, "pull", func() error { // until it has a link to the leader
			reply, err := m.Pull(within, PullRequest{Queue: "q0", Pilot: fmt.Sprint("p", m.id), Slot: job.Slot{Cores: 8}, RequestID: fmt.Sprint(m.id, n), WaitS: 0.2})
			if err == nil && len(reply.Leases) != 1 {
				err = fmt.Errorf("%d leases", len(reply.Leases))
			}
			if err == nil {
				l = reply.Leases[0]
			}
			return err
		})
		if before, twice := given[l.Lease]; twice {
			t.Errorf("lease %s was given by %d and %d", l.Lease, before, m.id)
		}
		given[l.Lease] = m.id
		try(m, "renewal", func() error {
			out, err := m.Renew(within, RenewRequest{Pilot: "p", Leases: []Renewal{{Lease: l.Lease, State: Running}}})
			if err == nil && !slices.Equal(out.Kept, []string{l.Lease}) {
				err = fmt.Errorf("%+v", out)
			}
			return err
		})
		try(m, "end", func() error {
			out, err := m.Finish(within, FinishRequest{Pilot: "p", Results: []Result{{Lease: l.Lease, Outcome: Finished, Message: "done"}}})
			if err == nil && out.Verdicts[0] != (Verdict{l.Lease, Recorded, "finished"}) {
				err = fmt.Errorf("%+v", out)
			}
			return err
		})
	}
	for n := range 5 {
		for _, m := range all {
			life(m, n)
		}
	}
	first, _, _ := h.leader(t)
	for _, m := range all {
		reply, err := m.links.Ask(t.Context(), m.Leader(), "pilots", []byte("q0"))
		if m.Leader() == m.id {
			if !errors.Is(err, link.ErrApart) {
				t.Errorf("daemon %d asks itself: %v", m.id, err)
			}
		} else if string(reply.Body) != "pilots 3" || err != nil {
			t.Errorf("the leader tells daemon %d of %q, %v", m.id, reply.Body, err)
		}
	}
	killed := all[first-1]
	killed.kill()
	h.mu.Lock()
	delete(h.peers, first)
	h.mu.Unlock()
	all = slices.DeleteFunc(all, func(m *linked) bool { return m == killed })
	for n := range 5 {
		for _, m := range all {
			life(m, 100+n)
		}
	}
	second, at, before := h.leader(t)
	if second == first || at.Sub(before) > 4*time.Second {
		t.Errorf("daemon %d leads %v after the last word of daemon %d", second, at.Sub(before), first)
	}
	t.Logf("daemon %d leads %v after the last word of daemon %d; %d lives", second, at.Sub(before), first, len(given))
}
