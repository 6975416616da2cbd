package face

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/internal/relay"
	"github.com/divvyhq/divvy/shares"
)

// house is daemons that reach each other by the relay on loopback.
type house struct {
	stage *stage
	site  shares.Version

	mu    sync.Mutex
	peers map[int64]Peer
}

// linked is one of them.
type linked struct {
	*Dispatcher
	id   int64
	kill func()
}

func (h *house) secretOf(_ context.Context, id int64) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.peers[id].Secret, nil
}

func (h *house) all(context.Context) (list []Peer, err error) {
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
	self := Peer{ID: id, Address: srv.Listener.Addr().String(), Secret: fmt.Sprint("secret of ", id)}
	links := NewLinks(LinksConfig{Self: self, Peers: h.all, SecretOf: h.secretOf})
	d, err := Open(t.Context(), Config{Pool: h.stage.db, Outbox: h.stage.outbox, End: lease.Retried(3), Render: renderTrue, Daemon: id, Address: self.Address, Send: links.Send,
		Site: func(context.Context, int64) (shares.Version, error) { return h.site, nil }})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	mux.Handle(relay.Path, links.Handler(done))
	h.mu.Lock()
	h.peers[id] = self
	h.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { d.Run(ctx) })
	all.Go(func() { links.Run(ctx, d) })
	var once sync.Once
	m := &linked{Dispatcher: d, id: id}
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

// Three daemons over the relay: whoever is asked, the leader decides; when it is killed another one takes over after its silence.
func TestLinks(t *testing.T) {
	h := &house{stage: newTables(t), site: siteOf(20, 2), peers: map[int64]Peer{}}
	all := []*linked{h.start(t, 1), h.start(t, 2), h.start(t, 3)}
	h.stage.Dispatcher = all[0].Dispatcher
	h.stage.stock(t, h.site, 1000)
	waitFor(t, func() bool {
		return slices.IndexFunc(all, func(m *linked) bool { return m.site.now.Load() == nil }) < 0
	})
	given := map[string]int64{}
	life := func(m *linked, n int) {
		t.Helper()
		var reply PullReply
		waitFor(t, func() bool { // until it has a link to the leader
			var err error
			reply, err = m.Pull(t.Context(), PullRequest{Queue: "q0", Pilot: fmt.Sprint("p", m.id), Slot: job.Slot{Cores: 8}, RequestID: fmt.Sprint(m.id, n), WaitS: 0.2})
			return err == nil
		})
		l := reply.Leases[0]
		if before, twice := given[l.Lease]; twice {
			t.Errorf("lease %s was given by %d and %d", l.Lease, before, m.id)
		}
		given[l.Lease] = m.id
		waitFor(t, func() bool {
			out, err := m.Renew(t.Context(), RenewRequest{Pilot: "p", Leases: []Renewal{{Lease: l.Lease, State: Running}}})
			return err == nil && slices.Equal(out.Kept, []string{l.Lease})
		})
		waitFor(t, func() bool {
			out, err := m.Finish(t.Context(), FinishRequest{Pilot: "p", Results: []Result{{Lease: l.Lease, Outcome: Finished, Message: "done"}}})
			return err == nil && out.Verdicts[0] == (Verdict{l.Lease, Recorded, "finished"})
		})
	}
	for n := range 5 {
		for _, m := range all {
			life(m, n)
		}
	}
	first, _, _ := h.leader(t)
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

// A message is the same on the other side, but for sites, and batches that need one.
func TestLetters(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	l := machine.Lease{Granted: entry.Granted{Job: 1 << 60, Attempt: 2, Nonce: -1 << 62, Pilot: "é\x01", Request: entry.ID{1, 255}}, User: "u", Order: &machine.Order{Reason: "r", GraceS: 3}}
	batch := entry.Batch{Seq: 7, ID: entry.ID{7}, After: entry.ID{6}, At: at, By: 3, Entries: []entry.Entry{l.Granted, entry.Tick{Now: at}, entry.Ended{Job: 1, Outcome: entry.Lost, Next: entry.Again}}}
	m := lease.Message{HandOn: true, Written: true, Batches: []entry.Batch{batch},
		Asks: []lease.Ask{{Call: lease.Call{Number: 1 << 63}, Pull: &machine.Pull{Queue: 1, Slot: job.Slot{Cores: 2, Labels: map[string]string{"a": "b"}}, Only: job.Only{Task: 3}, Request: entry.ID{9}, Nonce: -5}, Wait: time.Second},
			{Finish: []lease.End{{Key: lease.Key{Job: 1}, Outcome: entry.Failed}}}, {Left: true}, {Seen: []int64{1}}, {Renew: []lease.Renewal{{TTL: 5, State: lease.Draining}}}},
		Answers: []lease.Answer{{Status: lease.Over}, {Leases: []machine.Lease{l}, Renewed: []lease.Renewed{{Kept: true, Order: l.Order}}, Verdicts: []lease.Recorded{{Is: true, Outcome: 'f', Next: '.'}}, Seen: []lease.Seen{{At: at, State: lease.Running}}}}}
	none := func(int64) *shares.Version { return nil }
	text, err := pack(4, []lease.Message{m, {}})
	if err != nil {
		t.Fatal(err)
	}
	from, got, err := unpack(text, none)
	if diff := cmp.Diff([]lease.Message{m, {}}, got, cmpopts.EquateEmpty()); diff != "" || from != 4 || err != nil {
		t.Errorf("%d, %v, sent (-) and received (+):\n%s", from, err, diff)
	}
	adopts := batch
	adopts.Entries = []entry.Entry{entry.Adopted{Number: 5, Site: &shares.Version{Number: 5}}}
	if text, err = pack(4, []lease.Message{{Batches: []entry.Batch{batch, adopts, batch}}}); err != nil {
		t.Fatal(err)
	}
	if _, got, err = unpack(text, none); err != nil || len(got[0].Batches) != 1 {
		t.Errorf("%v: %+v", err, got)
	}
	known := &shares.Version{Number: 5}
	if _, got, err = unpack(text, func(int64) *shares.Version { return known }); err != nil || len(got[0].Batches) != 3 || got[0].Batches[1].Entries[0].(entry.Adopted).Site != known {
		t.Errorf("%v: %+v", err, got)
	}
	if _, _, err := unpack([]byte(`{"Letters":[{"Batches":[{"Entries":{"Kinds":"g"}}]}]}`), none); err == nil {
		t.Error("a broken batch is taken")
	}
}
