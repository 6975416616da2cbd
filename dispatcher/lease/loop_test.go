package lease

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/internal/ledgertest"
	"github.com/divvyhq/divvy/shares"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hall is a log in memory, with daemons at it.
type hall struct {
	t   *testing.T
	log ledgertest.Memory

	mu    sync.Mutex
	loops map[int64]*Loop
	ids   byte
}

// site is a site of one queue of some slots.
func site(slots int) *shares.Version {
	tree, err := shares.Build([]shares.Spec{{Name: "s", Plan: shares.DefaultPlan()}})
	if err != nil {
		panic(err)
	}
	tree.SetIDs(func(string) shares.ShareID { return 1 })
	q := shares.Queue{ID: 1, Name: "q", Pool: "p", State: shares.Online, CorePowerMilli: 1000, Cores: 8, Slots: &slots}
	return &shares.Version{Number: 1, Tree: tree, Queues: []shares.Queue{q}}
}

func newHall(t *testing.T) *hall {
	h := &hall{t: t, loops: map[int64]*Loop{}}
	_, err := h.log.Append(t.Context(), entry.Batch{Seq: 1, ID: entry.ID{1}, Entries: []entry.Entry{entry.Adopted{Number: 1}, entry.Shaped{Shape: 1, Need: job.Requirements{Cores: 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// start runs a daemon until stop is called.
func (h *hall) start(daemon int64) (l *Loop, stop func()) {
	ctx, cancel := context.WithCancel(h.t.Context())
	l = NewLoop(Config{Daemon: daemon, Draw: h.draw}, &at{h, daemon})
	h.mu.Lock()
	h.loops[daemon] = l
	var peers []int64
	for d := range h.loops {
		peers = append(peers, d)
	}
	h.mu.Unlock()
	for _, d := range peers {
		var others []int64
		for _, o := range peers {
			if o != d {
				others = append(others, o)
			}
		}
		h.loops[d].Tell(Peers{others})
	}
	var all sync.WaitGroup
	all.Go(func() { l.Run(ctx) })
	return l, func() {
		cancel()
		all.Wait()
	}
}

func (h *hall) draw() (id entry.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ids++
	id[15], id[0] = h.ids, 7
	return id
}

// at is the World of one daemon.
type at struct {
	*hall
	daemon int64
}

func (a *at) Append(ctx context.Context, b entry.Batch, beside ledger.Beside) (time.Time, error) {
	time.Sleep(time.Millisecond)
	return a.log.AppendWith(ctx, b, beside)
}

func (a *at) Gather(context.Context) ([]ledger.Row, error) { return a.log.Pending(500), nil }

func (a *at) Read(ctx context.Context, seq int64) ([]entry.Batch, error) {
	batches, err := a.log.Read(ctx, seq, 500)
	for _, b := range batches {
		for i, e := range b.Entries {
			if adopted, ok := e.(entry.Adopted); ok {
				adopted.Site = site(2)
				b.Entries[i] = adopted
			}
		}
	}
	return batches, err
}

func (a *at) Reload(context.Context) Reloaded {
	return Reloaded{Machine: machine.New(machine.Config{})}
}

func (a *at) Look(_ context.Context, keys []Key) ([]Recorded, error) {
	return make([]Recorded, len(keys)), nil
}

func (a *at) Send(to int64, m Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if l := a.loops[to]; l != nil {
		l.Tell(Received{a.daemon, m})
	}
}

func (a *at) Broken(seq int64, err error) { a.t.Errorf("daemon %d, batch %d: %v", a.daemon, seq, err) }

// written writes a row, gives one daemon the hint, and waits until the log has it.
func (h *hall) written(l *Loop, entries ...entry.Entry) {
	h.t.Helper()
	row := h.log.Write(entries...)
	l.Tell(Written{})
	for range 100 {
		if h.log.RowFate(row).Seq > 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	h.t.Fatalf("row %d does not come into the log: %+v", row, h.log.RowFate(row))
}

// retried asks until the daemon is not Unavailable.
func retried(t *testing.T, l *Loop, a Ask) Answer {
	t.Helper()
	for range 100 {
		out, err := l.Ask(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		if out.Status != Unavailable {
			return out
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%+v is never answered", a)
	return Answer{}
}

func pullOf(pilot string, request byte) Ask {
	p := &machine.Pull{Queue: 1, Slot: job.Slot{Cores: 1}, Most: 1, Pilot: pilot, Nonce: 5}
	if request > 0 {
		p.Request = entry.ID{request}
	}
	return Ask{Pull: p, Wait: time.Second}
}

// The life of jobs over two daemons, of which the one that leads is stopped.
func TestLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t)
		first, stopFirst := h.start(1)
		second, stopSecond := h.start(2)
		defer stopSecond()
		h.written(first, entry.Enqueued{Task: 1, Share: 1, Shape: 1, Low: 1, High: 3, Attempt: 1, User: "u"})
		one, two := retried(t, first, pullOf("a", 1)), retried(t, second, pullOf("b", 2))
		if len(one.Leases) != 1 || len(two.Leases) != 1 || one.Leases[0].Job == two.Leases[0].Job {
			t.Fatalf("%+v, %+v: want a job each", one, two)
		}
		if out := retried(t, second, pullOf("c", 0)); out.Status != NoJob {
			t.Errorf("%+v: both slots are taken", out)
		}
		leader, follower, stop := first, second, stopFirst
		if second.node.Leads() { // both are at rest between steps
			leader, follower, stop = second, first, stopSecond
			defer stopFirst()
		}
		key := keyOf(one.Leases[0])
		if out := retried(t, follower, Ask{Renew: []Renewal{{Key: key, Started: true}}}); len(out.Renewed) != 1 || !out.Renewed[0].Kept {
			t.Errorf("renewed: %+v", out)
		}
		leader.Tell(Drain{})
		synctest.Wait()
		stop()
		if _, err := leader.Ask(t.Context(), pullOf("d", 0)); !errors.Is(err, ErrStopped) {
			t.Errorf("%v, want ErrStopped", err)
		}
		began := time.Now()
		if out := retried(t, follower, pullOf("a", 1)); len(out.Leases) != 1 || keyOf(out.Leases[0]) != key {
			t.Errorf("%+v: want the same lease again", out)
		}
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Errorf("the lead was handed on after %v", took)
		}
		for range 2 {
			if out := retried(t, follower, Ask{Finish: []End{{Key: key, Outcome: entry.Finished}}}); len(out.Verdicts) != 1 || !out.Verdicts[0].Is {
				t.Errorf("finished: %+v", out)
			}
		}
		h.written(follower, entry.Enqueued{Task: 2, Share: 1, Shape: 1, Low: 4, High: 4, Attempt: 1, User: "u"})
		if out := retried(t, follower, pullOf("a", 1)); out.Status != Over {
			t.Errorf("%+v: the request is over", out)
		}
		if out := retried(t, follower, Ask{Finish: []End{{Key: Key{Job: 9}, Outcome: entry.Finished}}}); out.Verdicts[0].Is {
			t.Errorf("%+v: there was no such lease", out)
		}
	})
}

// A caller that goes away without a request id leaves nothing behind.
func TestLoopCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t)
		l, stop := h.start(1)
		defer stop()
		h.written(l, entry.Enqueued{Task: 1, Share: 1, Shape: 1, Low: 1, High: 1, Attempt: 1, User: "u"})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if out, err := l.Ask(ctx, pullOf("a", 0)); !errors.Is(err, context.Canceled) {
				t.Errorf("%+v, %v", out, err)
			}
		})
		time.Sleep(500 * time.Microsecond)
		cancel()
		all.Wait()
		time.Sleep(100 * time.Millisecond)
		if out := retried(t, l, pullOf("b", 0)); len(out.Leases) != 1 || out.Leases[0].Attempt != 2 {
			t.Errorf("%+v: want attempt 2 of the job that was returned", out)
		}
	})
}

// Who parks his ask is told once, whatever comes first: the answer, the end of his context, or that of the loop.
func TestLoopAskOrPark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t)
		l, stop := h.start(1)
		h.written(l, entry.Enqueued{Task: 1, Share: 1, Shape: 1, Low: 1, High: 1, Attempt: 1, User: "u"})
		type told struct {
			leases int
			err    error
		}
		ask := func(ctx context.Context, pilot string, wait time.Duration) chan told {
			heard, a := make(chan told, 9), pullOf(pilot, 0)
			a.Wait = wait
			then := func(out Answer, err error) { heard <- told{len(out.Leases), err} }
			if out, parked, err := l.AskOrPark(ctx, a, func() func(Answer, error) { return then }); !parked {
				then(out, err)
			}
			return heard
		}
		gone, goes := context.WithCancel(t.Context())
		goes()
		left, leaves := context.WithCancel(t.Context())
		for i, c := range []struct {
			heard  chan told
			before func()
			want   told
		}{
			{ask(gone, "gone", time.Hour), func() {}, told{0, context.Canceled}},
			{ask(t.Context(), "a", time.Hour), func() { time.Sleep(time.Second) }, told{1, nil}},
			{ask(left, "leaves", time.Hour), leaves, told{0, context.Canceled}},
			{ask(t.Context(), "none", time.Second), func() { time.Sleep(time.Minute) }, told{0, nil}},
			{ask(t.Context(), "waits", time.Hour), stop, told{0, ErrStopped}},
			{ask(t.Context(), "late", time.Hour), func() {}, told{0, ErrStopped}},
		} {
			if c.before(); i == 5 {
				c.heard = ask(t.Context(), "late", time.Hour)
			}
			synctest.Wait()
			if got := <-c.heard; got != c.want || len(c.heard) > 0 {
				t.Errorf("case %d: told %+v, want %+v; %d times more", i, got, c.want, len(c.heard))
			}
		}
	})
}

// A daemon that drains lets no pull wait, wherever it waits: what comes then is for others.
func TestLoopDrainEndsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t)
		leader, stop := h.start(1)
		defer stop()
		other, stopOther := h.start(2)
		defer stopOther()
		retried(t, other, Ask{Seen: []int64{1}}) // it follows
		ask, answer := pullOf("a", 0), make(chan Answer, 1)
		ask.Wait = time.Hour
		go func() {
			out, err := other.Ask(t.Context(), ask)
			if err != nil {
				t.Error(err)
			}
			answer <- out
		}()
		time.Sleep(time.Second)
		began := time.Now()
		other.Tell(Drain{})
		if out := <-answer; out.Status != Unavailable || time.Since(began) > time.Second {
			t.Errorf("%+v after %v", out, time.Since(began))
		}
		h.written(leader, entry.Enqueued{Task: 1, Share: 1, Shape: 1, Low: 1, High: 1, Attempt: 1, User: "u"})
		if out := retried(t, leader, pullOf("b", 0)); len(out.Leases) != 1 || out.Leases[0].Attempt != 1 {
			t.Errorf("%+v: want the job that nobody else waits for", out)
		}
	})
}

func TestClockCountsSleep(t *testing.T) {
	for _, c := range []struct{ monotonic, day, want time.Duration }{
		{time.Second, time.Second, time.Second}, {time.Second, time.Hour, time.Hour}, {time.Second, -time.Hour, time.Second},
		{time.Second, time.Second + time.Millisecond, time.Second},
	} {
		if got := passed(c.monotonic, c.day); got != c.want {
			t.Errorf("%v and %v: %v, want %v", c.monotonic, c.day, got, c.want)
		}
	}
}
