package replay

import (
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
	score "github.com/divvyhq/divvy/shares/replay"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func open(t testing.TB) (*Store, *ledger.Table) {
	t.Helper()
	pool := pgtest.Open(t)
	return NewStore(pool), ledger.New(pool)
}

// hours has a history of so many hours with a checkpoint kept in each, of a grant a minute.
func hours(t *testing.T, n int) *history {
	t.Helper()
	h := newHistory(machine.Config{})
	h.store, _ = open(t)
	v := weighted(t, 1, 1)
	h.apply(entry.Tick{Now: h.now})
	h.apply(entry.Shaped{Shape: 1, Need: job.Requirements{Cores: 1}})
	h.apply(entry.Adopted{Number: 1, Site: &v})
	for i := range int64(2) {
		h.apply(entry.Enqueued{Task: i + 1, Share: shares.ShareID(i + 1), Shape: 1, Low: i*5000 + 1, High: i*5000 + 3000, Attempt: 1, User: "ann"})
	}
	for range n * 60 {
		for l := range h.leader.Leases() {
			h.apply(entry.Ended{Job: l.Job, Attempt: l.Attempt, Outcome: entry.Finished, Next: entry.Over})
		}
		h.pull(machine.Pull{Queue: 1, Slot: job.Slot{Cores: 1}, Pilot: "p"})
		h.now = h.now.Add(time.Minute)
		h.apply(entry.Tick{Now: h.now})
		h.seal()
		due, err := h.store.Due(t.Context(), h.now)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := h.store.Keep(t.Context(), Take(h.leader, h.now))
		if err != nil || due != (kept > 0) {
			t.Fatalf("due %v, kept %d bytes, %v", due, kept, err)
		}
	}
	return h
}

// A replay begins with the newest checkpoint before it, and goes on after what the log does not have any more.
func TestReplayFromCheckpoints(t *testing.T) {
	t.Parallel()
	h := hours(t, 4)
	r := h.reader(machine.Config{})
	at := func(minutes int) time.Time { return morning.Add(time.Duration(minutes) * time.Minute) }
	check := func(name string, since, until, compared int, left ...score.Count) {
		t.Helper()
		s, err := r.Score(t.Context(), at(since), at(until), nil, 5)
		if err != nil || s.Compared != int64(compared) || s.Differences+s.Drifts > 0 || len(s.NotComparable) != len(left) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
		for i := range min(len(left), len(s.NotComparable)) {
			if s.NotComparable[i] != left[i] {
				t.Errorf("%s: %+v", name, s.NotComparable)
			}
		}
	}
	check("all of it", 0, 240, 240)
	check("an hour", 90, 149, 60)
	if seq, at, err := h.store.Retain(t.Context(), at(100)); err != nil || seq != 61 || !at.Equal(morning.Add(61*time.Minute)) {
		t.Errorf("the oldest that is needed: %d, %v, %v", seq, at, err)
	} else if n, err := h.log.Retain(t.Context(), at, seq); err != nil || n != 60 {
		t.Errorf("%d batches dropped, %v", n, err)
	}
	check("an hour, without what no checkpoint needs", 90, 149, 60)
	check("since before the oldest checkpoint", 0, 240, 179)
	if n, err := h.log.Retain(t.Context(), at(130), 130); err != nil || n != 69 {
		t.Errorf("%d batches dropped, %v", n, err)
	}
	check("with a gap behind two checkpoints", 90, 240, 59)
	delete(h.sites, 1)
	check("without its site", 190, 240, 0, score.Count{Reason: score.NoVersion, Decisions: 51})
	r.Store = nil
	check("without checkpoints and beginning", 90, 240, 0)
}

// Each decision can be asked for: by its attempt, or how two shares fared.
func TestDecisions(t *testing.T) {
	t.Parallel()
	h := hours(t, 2)
	r := h.reader(machine.Config{})
	var recent Recent
	fare := Fare{A: "A", B: "B"}
	var last Decided
	err := r.Decisions(t.Context(), morning.Add(30*time.Minute), h.now, func(_ *Turn, d Decided, _ machine.Contest) bool {
		recent.Keep(d)
		fare.Add(d)
		last = d
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	rec, levels, err := r.Decision(t.Context(), last.Job, int32(last.Attempt), last.At)
	if err != nil || rec == nil || rec.Winner != last.Share || rec.RunnerUp != last.RunnerUp || rec.Parted != 1 || len(levels) != 1 || *levels[0].Deficit != last.Deficit {
		t.Errorf("%+v, %+v, %v; decided %+v", rec, levels, err, last)
	}
	if rec, _, err := r.Decision(t.Context(), last.Job, 9, last.At); rec != nil || err != nil {
		t.Errorf("an attempt that never was: %+v, %v", rec, err)
	}
	f := fare.Fared
	if n := f.Decisions; n != 91 || f.AWon+f.BWon != n || f.ABeforeB.Times < 45 || f.BBeforeA.Times < 45 || *f.ABeforeB.Deficit != 0.5 ||
		f.BBeforeA.Last == nil || !f.Oldest.Equal(morning.Add(30*time.Minute)) {
		t.Errorf("%+v", f)
	}
	all := recent.Lately(DecidedFilter{Limit: 1000})
	if len(all.Items) != 91 || all.Items[0].N != 91 || !all.Since.Equal(*f.Oldest) {
		t.Errorf("%d of %+v", len(all.Items), all)
	}
	some := recent.Lately(DecidedFilter{Share: "A", Queue: "q", After: 80})
	for _, d := range some.Items {
		if d.Share != "A" || d.N <= 80 {
			t.Errorf("%+v", d)
		}
	}
	if len(some.Items) != 5 {
		t.Errorf("%d items", len(some.Items))
	}
}

// The log of a database replays like one in memory, what pulls asked for among it.
func TestReplayOfATable(t *testing.T) {
	t.Parallel()
	b, err := recorded("../machine/testdata/tapes/many.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	_, table := open(t)
	if _, err := table.Extend(t.Context(), 1000, 1000); err != nil {
		t.Fatal(err)
	}
	batches, err := b.log.Read(t.Context(), 0, 1000)
	for _, each := range batches {
		if err == nil {
			_, err = table.Append(t.Context(), each)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	r := b.reader(b.cfg)
	r.Log = table
	s, err := r.Score(t.Context(), time.Time{}, time.Now().Add(time.Hour), nil, 5)
	if err != nil {
		t.Fatal(err)
	}
	b.exact(t, s)
}

// What the log does not say is not guessed: a grant whose pull is not known is counted as such.
func TestReplayWithoutAsked(t *testing.T) {
	t.Parallel()
	h := busy(t)
	blind := newHistory(machine.Config{})
	blind.sites, blind.now = h.sites, h.now
	batches, err := h.log.Read(t.Context(), 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range batches {
		for k, e := range b.Entries {
			if a, ok := e.(entry.Asked); ok && i%2 == 0 {
				a.Of = "-"
				b.Entries[k] = a
			}
		}
		if _, err := blind.log.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	for _, site := range []*shares.Version{nil, {Number: 2, Tree: h.sites[1].Tree, Queues: h.sites[1].Queues}} {
		s, err := blind.reader(machine.Config{}).Score(t.Context(), morning, h.now, site, 5)
		want := []score.Count{{Reason: score.Unasked, Decisions: 750}}
		if err != nil || s.Decisions != 1500 || s.Compared != 750 || s.Differences != 0 || len(s.NotComparable) != 1 || s.NotComparable[0] != want[0] {
			t.Errorf("%+v, %v", s, err)
		}
	}
}

// A checkpoint that is damaged, or of another version, is refused.
func TestUnpackRefuses(t *testing.T) {
	t.Parallel()
	h := busy(t)
	packed, err := Take(h.leader, h.now).Pack()
	if err != nil {
		t.Fatal(err)
	}
	for name, spoilt := range map[string][]byte{"empty": nil, "another format": append([]byte{9}, packed[1:]...), "cut": packed[:len(packed)/2]} {
		if _, err := Unpack(spoilt); err == nil {
			t.Errorf("%s: it is unpacked", name)
		}
	}
}
