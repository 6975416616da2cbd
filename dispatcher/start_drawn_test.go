package dispatcher

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// history writes a log, batch by batch, with all that befalls jobs.
type history struct {
	r    *rand.Rand
	m    *machine.Machine
	next int64
	now  time.Time
}

// Whatever is folded, a start and the rest of the log make the machine that has read all of it: at once where the tables have the
// newest Stood, else from the next one on.
func TestStartAndTailAreTheLog(t *testing.T) {
	t.Parallel()
	v := siteOf(20, 2)
	s := newTables(t)
	s.open(t, v)
	s.stop()
	h := &history{r: rand.New(rand.NewPCG(7, 7)), m: machine.New(machine.Config{}), now: time.Now().UTC().Truncate(time.Second)}
	after := entry.ID{}
	var starts []*machine.Machine
	equal := 0
	seq, _ := s.made(t, v).Stand()
	if batches, err := (world{s.Dispatcher}).Read(t.Context(), seq); err != nil {
		t.Fatal(err)
	} else if len(batches) > 0 {
		for _, b := range batches {
			if err := h.m.Advance(b); err != nil {
				t.Fatal(err)
			}
			seq, after = b.Seq, b.ID
		}
	}
	for n := range 60 {
		b := entry.Batch{Seq: seq + 1, After: after, By: 1, ID: entry.ID{15: byte(n + 1)}}
		stands := n%6 == 5
		b.Entries = h.draw(t, &v, n, stands)
		if _, err := s.log.AppendWith(t.Context(), b, ledger.Beside{}); err != nil {
			t.Fatal(err)
		}
		seq, after = b.Seq, b.ID
		h.m.Reach(b.Seq, b.ID)
		batches, err := world{s.Dispatcher}.Read(t.Context(), seq-1)
		if err != nil || len(batches) != 1 {
			t.Fatalf("%d batches, %v", len(batches), err)
		}
		for _, made := range starts {
			if err := made.Advance(batches[0]); err != nil {
				t.Fatalf("the log does not follow a start: %v", err)
			}
			if stands {
				equal++
				if made.Digest() != h.m.Digest() {
					t.Fatalf("batch %d: a start is not the log after Stood", seq)
				}
			}
		}
		if _, err := s.folder.Fold(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		made := s.made(t, v)
		if stands && made.Digest() != h.m.Digest() {
			t.Fatalf("batch %d: a start with the newest Stood is not the log", seq)
		}
		starts = append(starts, made)
	}
	if equal < 200 || len(slices.Collect(h.m.Leases())) == 0 {
		t.Errorf("%d comparisons", equal)
	}
}

// draw makes the entries of a batch, which the machine follows.
func (h *history) draw(t *testing.T, v *shares.Version, n int, stands bool) (list []entry.Entry) {
	add := func(e entry.Entry) {
		if err := h.m.Apply(e); err != nil {
			t.Fatalf("%#v: %v", e, err)
		}
		list = append(list, e)
	}
	h.now = h.now.Add(time.Duration(1+h.r.IntN(20)) * time.Second)
	add(entry.Tick{Now: h.now})
	if n == 0 {
		add(entry.Shaped{Shape: 1, Need: job.Requirements{Cores: 1}})
		add(entry.Adopted{Number: 1, Site: v})
	}
	for range 2 + h.r.IntN(5) {
		h.verb(add, v)
	}
	for range 1 + h.r.IntN(3) {
		p := pullOf(h.r.IntN(100), 2)
		p.Slot.Cores, p.Most = 3, 3
		list = append(list, h.m.Decide(p).Entries...)
	}
	leases := slices.SortedFunc(h.m.Leases(), func(a, b machine.Lease) int { return cmp.Compare(a.Job, b.Job) })
	for _, l := range leases {
		if h.r.IntN(3) == 0 {
			e := entry.Ended{Job: l.Job, Attempt: l.Attempt, Outcome: entry.Failed, Next: []entry.Next{entry.Over, entry.Again, entry.Waits}[h.r.IntN(3)]}
			e.Next = l.Becomes(e.Outcome, e.Next)
			add(e)
		}
	}
	if stands {
		for _, e := range h.m.Stood() {
			add(e)
		}
	}
	return list
}

// verb draws what people and rules do.
func (h *history) verb(add func(entry.Entry), v *shares.Version) {
	leaves := v.Tree.Leaves()
	share := v.Tree.Nodes[leaves[h.r.IntN(len(leaves))]].ID
	task, low := int64(1+h.r.IntN(5)), 1+h.r.Int64N(h.next+1)
	switch h.r.IntN(11) {
	case 0:
		add(entry.Paused{Task: task})
	case 1:
		add(entry.Resumed{Task: task})
	case 2:
		add(entry.Killed{Task: task, Low: low, High: low + 4, Reason: "killed", Idle: h.r.IntN(2) == 0})
	case 3:
		add(entry.Moved{Task: task, Low: low, High: low + 6, Share: share, Place: 2, Running: h.r.IntN(2) == 0})
	case 4:
		add(entry.Placed{Task: task, Low: low, High: low + 6, Place: -1})
	case 5:
		add(entry.Closed{Task: task, Low: low, High: low + 6})
	case 6:
		add(entry.Holed{Queue: 2, Is: h.r.IntN(2) == 0, ProbeS: 30})
		add(entry.Owed{Pool: "main", Share: share, Units: 2000})
	case 7:
		add(entry.Reported{Name: "disk", Total: 5, Used: 2, At: h.now})
		add(entry.Polled{Queue: 1, Is: true})
	default:
		e := entry.Enqueued{Task: task, Share: share, Shape: 1, Low: h.next + 1, High: h.next + 1 + h.r.Int64N(5), Attempt: 1, User: "u"}
		h.next = e.High
		if h.r.IntN(3) == 0 {
			claim := e.Low + 1000
			add(entry.Claimed{Claim: claim, Task: task, Key: "c", Jobs: int(e.Jobs()), Template: shares.ClaimTemplate{Name: "c", MaxSharers: 9, Linger: time.Minute}})
			add(entry.Joined{Task: task, Low: e.Low, High: e.High, Claims: []int64{claim}})
		}
		add(e)
	}
}
