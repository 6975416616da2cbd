package replay

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
	score "github.com/divvyhq/divvy/shares/replay"
)

// tapeEntry is a line of a tape, as far as a band plays it: tests of package machine have its whole form. One field is set.
type tapeEntry struct {
	Begin *struct {
		LocalWaitMS int64 `json:"local_wait_ms"`
		AtUS        int64 `json:"at_us"`
	}
	Adopt *struct {
		Site    *shares.Version
		Targets []entry.Target
	}
	Shape *struct {
		ID   int32
		Need job.Requirements
	}
	Ready   *tapeReady
	Ended   *tapeEnded
	Backlog *struct {
		Share shares.ShareID
		Shape int32
		N     int64
	}
	Remembered *struct {
		AtUS int64 `json:"at_us"`
	}
	Seen *struct {
		Queue shares.QueueID
		Some  bool
	}
	Pull *tapePull
}

type tapeReady struct {
	Task  int64
	User  string
	Share shares.ShareID
	Shape int32
	Place int64
	Jobs  [][2]int64 // the first and the last of some ids
	Made  bool
}

type tapeEnded struct {
	Job  int64
	Next string // as entry.Next
}

type tapePull struct {
	Queue       shares.QueueID
	Pilot, Node string
	Devices     []string
	Slot        job.Slot
	Max         int
	Only        *job.Only
	AtUS        int64 `json:"at_us"`
}

// readTape reads a whole tape. The trees of its sites can be looked up by path and by id.
func readTape(path string) (entries []tapeEntry, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	zip, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	for in := json.NewDecoder(zip); ; {
		var e tapeEntry
		if err := in.Decode(&e); errors.Is(err, io.EOF) {
			return entries, nil
		} else if err != nil {
			return nil, err
		}
		if e.Adopt != nil && e.Adopt.Site != nil {
			ids := map[string]shares.ShareID{}
			for _, n := range e.Adopt.Site.Tree.Nodes {
				ids[n.Path] = n.ID
			}
			e.Adopt.Site.Tree.SetIDs(func(path string) shares.ShareID { return ids[path] })
		}
		entries = append(entries, e)
	}
}

// band plays what a tape recorded to a machine that decides itself: pulls, jobs and ends of a real day, in their order.
type band struct {
	*history
	site   shares.Version
	cfg    machine.Config
	leases []int64 // the oldest first
	live   map[int64]bool
}

func (b *band) play(e tapeEntry) {
	switch {
	case e.Begin != nil:
		b.cfg = machine.Config{LocalWait: time.Duration(e.Begin.LocalWaitMS) * time.Millisecond}
		b.history, b.live = newHistory(b.cfg), map[int64]bool{}
		b.tick(e.Begin.AtUS)
	case e.Adopt != nil:
		if e.Adopt.Site != nil {
			b.site = *e.Adopt.Site
		}
		b.site.Number = int64(len(b.sites) + 1)
		v := b.site
		b.apply(entry.Adopted{Number: v.Number, Site: &v})
		b.apply(entry.Bounded{Targets: e.Adopt.Targets})
	case e.Shape != nil:
		b.apply(entry.Shaped{Shape: e.Shape.ID, Need: e.Shape.Need})
	case e.Ready != nil:
		b.ready(e.Ready)
	case e.Ended != nil:
		b.end(e.Ended)
	case e.Backlog != nil:
		b.apply(entry.Expected{Share: e.Backlog.Share, Shape: e.Backlog.Shape, Jobs: e.Backlog.N})
	case e.Remembered != nil:
		b.tick(e.Remembered.AtUS)
	case e.Seen != nil:
		b.apply(entry.Polled{Queue: e.Seen.Queue, Is: e.Seen.Some})
	case e.Pull != nil:
		b.ask(e.Pull)
	}
}

// ready enqueues jobs that are not there yet: whatever moved on the tape stays here.
func (b *band) ready(e *tapeReady) {
	r := entry.Enqueued{Task: e.Task, User: e.User, Share: e.Share, Shape: e.Shape, Place: e.Place, Attempt: 2}
	if e.Made {
		r.Attempt = 1
	}
	for _, span := range e.Jobs {
		for id := span[0]; id <= span[1]; id++ {
			for r.Low = id; id <= span[1] && !b.live[id]; id++ {
				b.live[id] = true
			}
			if r.High = id - 1; r.High >= r.Low {
				b.apply(r)
			}
		}
	}
}

func (b *band) tick(us int64) {
	if at := time.UnixMicro(us).UTC(); at.After(b.now) || b.now.Equal(morning) {
		b.seal()
		b.now = at
		b.apply(entry.Tick{Now: at})
	}
}

// end ends the lease that the tape says, or the oldest when the job is another one here.
func (b *band) end(e *tapeEnded) {
	job := e.Job
	if _, ok := b.leader.Lease(job); !ok {
		for ; len(b.leases) > 0 && !ok; b.leases = b.leases[1:] {
			job = b.leases[0]
			_, ok = b.leader.Lease(job)
		}
		if !ok {
			return
		}
	}
	l, _ := b.leader.Lease(job)
	if entry.Next(e.Next[0]) != entry.Again {
		delete(b.live, job)
	}
	b.apply(entry.Ended{Job: job, Attempt: l.Attempt, Outcome: entry.Finished, Next: entry.Next(e.Next[0])})
}

func (b *band) ask(e *tapePull) {
	p := machine.Pull{Queue: e.Queue, Slot: e.Slot, Most: e.Max, Pilot: e.Pilot, Node: e.Node, Devices: e.Devices}
	if e.AtUS > 0 {
		p.At = time.UnixMicro(e.AtUS).UTC()
	}
	if e.Only != nil {
		p.Only = *e.Only
	}
	for _, g := range b.pull(p).Entries {
		if g, ok := g.(entry.Granted); ok {
			b.leases = append(b.leases, g.Job)
		}
	}
	if len(b.entries) > 85 {
		b.seal()
	}
}

// day is the longest tape.
var day = sync.OnceValues(func() (*band, error) { return recorded("../machine/testdata/tapes/day.jsonl.gz") })

// recorded makes the log of a tape.
func recorded(path string) (*band, error) {
	entries, err := readTape(path)
	if err != nil {
		return nil, err
	}
	b := &band{}
	for _, e := range entries {
		b.play(e)
	}
	b.seal()
	return b, nil
}

// What a machine decided on a real day it decides again, all of it.
func TestTapesReplay(t *testing.T) {
	t.Parallel()
	tapes, err := filepath.Glob("../machine/testdata/tapes/*.jsonl.gz")
	if err != nil || len(tapes) < 10 {
		t.Fatalf("%d tapes, %v", len(tapes), err)
	}
	for _, path := range tapes {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".jsonl.gz"), func(t *testing.T) {
			t.Parallel()
			read := func() (*band, error) { return recorded(path) }
			if strings.Contains(path, "day") {
				read = day
			}
			b, err := read()
			if err != nil {
				t.Fatal(err)
			}
			s, err := b.reader(b.cfg).Score(t.Context(), time.Time{}, b.now, nil, 5)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d grants, %d compared, %v, %.1f h", b.grants, s.Compared, s.NotComparable, s.Hours)
			if b.exact(t, s); s.Compared < 40 {
				t.Errorf("%d decisions compared", s.Compared)
			}
			n := 0
			err = b.reader(b.cfg).Decisions(t.Context(), time.Time{}, b.now, func(_ *Turn, d Decided, _ machine.Contest) bool {
				if n++; d.Share == "" || d.Queue == "" || d.Candidates < 1 || (d.RunnerUp == "") != (d.Second == nil) {
					t.Errorf("%+v", d)
				}
				return !t.Failed()
			})
			if err != nil || int64(n) != s.Compared {
				t.Errorf("%d decisions, %d compared, %v", n, s.Compared, err)
			}
		})
	}
}

// busy is a site of two shares with all the jobs that they could want, whose pilots hold twenty slots for a few minutes each.
func busy(t fail) *history {
	h := newHistory(machine.Config{})
	v := weighted(t, 1, 1)
	h.apply(entry.Tick{Now: h.now})
	h.apply(entry.Shaped{Shape: 1, Need: job.Requirements{Cores: 1}})
	h.apply(entry.Adopted{Number: 1, Site: &v})
	for i := range int64(2) {
		h.apply(entry.Enqueued{Task: i + 1, Share: shares.ShareID(i + 1), Shape: 1, Low: i*5000 + 1, High: i*5000 + 3000, Attempt: 1, User: "ann"})
	}
	var leases []entry.Granted
	for n := range 1500 {
		if len(leases) == 20 {
			i := n * 7 % 20
			h.apply(entry.Ended{Job: leases[i].Job, Attempt: leases[i].Attempt, Outcome: entry.Finished, Next: []entry.Next{entry.Over, entry.Again, entry.Over}[n%3]})
			leases = append(leases[:i], leases[i+1:]...)
		}
		for _, e := range h.pull(machine.Pull{Queue: 1, Slot: job.Slot{Cores: 1}, Pilot: "p"}).Entries {
			leases = append(leases, e.(entry.Granted))
		}
		h.now = h.now.Add(2 * time.Second)
		h.apply(entry.Tick{Now: h.now})
		h.seal()
	}
	return h
}

// weighted is a site of two shares with these weights.
func weighted(t fail, a, b float64) shares.Version {
	t.Helper()
	plan := func(w float64) shares.Plan { p := shares.DefaultPlan(); p.Weight = w; return p }
	tree, err := shares.Build([]shares.Spec{{Name: "A", Plan: plan(a)}, {Name: "B", Plan: plan(b)}})
	if err != nil {
		t.Fatalf("%v", err)
	}
	tree.SetIDs(func(path string) shares.ShareID { return map[string]shares.ShareID{"A": 1, "B": 2}[path] })
	slots := 20
	return shares.Version{Number: 1, Tree: tree, Queues: []shares.Queue{{ID: 1, Name: "q", Pool: "main", State: shares.Online, CorePowerMilli: 1000, Cores: 8, Slots: &slots}}}
}

// By another site slots go to others, and what each share holds goes to its target.
func TestReplayOfAnotherSite(t *testing.T) {
	t.Parallel()
	h := busy(t)
	other := weighted(t, 4, 1)
	s := h.score(t, machine.Config{}, &other)
	got := map[string]score.Delivered{}
	for _, d := range s.Shares {
		got[d.Path] = d
	}
	a, b := got["A"], got["B"]
	t.Logf("A: %d of %d starts, now %d; %.2f of %.2f slot-hours, now %.2f; %d differences", a.Started, s.Compared, a.Starts, a.Recorded, a.Recorded+b.Recorded, a.Now, s.Differences)
	held := a.Now / (a.Now + b.Now)
	if s.Compared != int64(h.grants) || s.Differences == 0 || len(s.First) != 5 || held < 0.78 || held > 0.82 || a.Starts+b.Starts != s.Compared {
		t.Errorf("%+v", s)
	}
	if all := a.Recorded + b.Recorded; a.Recorded/all < 0.48 || a.Recorded/all > 0.52 || all-a.Now-b.Now > 1e-6 {
		t.Errorf("what was recorded: %+v", s.Shares)
	}
	if d := s.First[0]; d.ShareID != 2 || d.ShareNow != "A" || d.DeficitNow <= 0 || d.Job == 0 {
		t.Errorf("the first difference: %+v", d)
	}
	same := weighted(t, 1, 1)
	if s := h.score(t, machine.Config{}, &same); s.Differences != 0 || s.Compared != int64(h.grants) {
		t.Errorf("by the same weights: %+v", s)
	}
	gone := weighted(t, 1, 1)
	gone.Queues[0].ID = 9
	if s := h.score(t, machine.Config{}, &gone); s.Differences != s.Compared || s.First[0].ShareNow != "" {
		t.Errorf("by a site without the queue: %+v", s)
	}
}

// The real day by another tree: every decision is made, and nothing that the rival refuses stops it.
func TestDayByAnotherTree(t *testing.T) {
	t.Parallel()
	b, err := day()
	if err != nil {
		t.Fatal(err)
	}
	other := b.sites[int64(len(b.sites))]
	other.Tree = other.Tree.At(b.now)
	for i := range other.Tree.Nodes {
		other.Tree.Nodes[i].Plan.Weight += float64(i % 3)
	}
	s, err := b.reader(b.cfg).Score(t.Context(), time.Time{}, b.now, &other, 5)
	if err != nil || s.Decisions != int64(b.grants) || s.Differences == 0 || s.Comparable() < 0.95 {
		t.Errorf("%v, %d grants, %d decisions, %d compared, %d differences, %v", err, b.grants, s.Decisions, s.Compared, s.Differences, s.NotComparable)
	}
	t.Logf("%d decisions, %d differences", s.Decisions, s.Differences)
}
