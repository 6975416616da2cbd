package replay

import (
	"testing"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// A gang starts in several pulls at once, so that grants of one pull may stand between those of another: what each was given before is known all the same.
func TestPullsBetweenPulls(t *testing.T) {
	t.Parallel()
	h := newHistory(machine.Config{})
	tree, err := shares.Build([]shares.Spec{{Name: "s", Plan: shares.DefaultPlan()}})
	if err != nil {
		t.Fatal(err)
	}
	tree.SetIDs(func(string) shares.ShareID { return 1 })
	site := shares.Version{Number: 1, Tree: tree, Queues: []shares.Queue{{ID: 1, Name: "q", Pool: "p", State: shares.Online, CorePowerMilli: 1000, Cores: 8}}}
	for _, e := range []entry.Entry{entry.Adopted{Number: 1, Site: &site}, entry.Tick{Now: h.now}, entry.Shaped{Shape: 1, Need: job.Requirements{Cores: 1}},
		entry.Enqueued{Task: 1, Share: 1, Shape: 1, Low: 1, High: 3, Attempt: 1, User: "u"}} {
		if !h.apply(e) {
			t.Fatalf("%+v is refused", e)
		}
	}
	h.seal()
	for range 2 { // a pilot has several pulls at once
		h.pull(machine.Pull{Queue: 1, Slot: job.Slot{Cores: 2}, Most: 2, Pilot: "a"})
	}
	h.entries[1], h.entries[2] = h.entries[2], h.entries[1]
	h.seal()
	p, had := NewPlayer(machine.New(machine.Config{})), map[int64]int{}
	batches, err := h.log.Read(t.Context(), 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err := entry.Complete(b.Entries, func(int64) (*shares.Version, error) { return &site, nil }); err != nil {
			t.Fatal(err)
		}
		if err := p.Play(b, func(turn *Turn) { had[turn.Grant.Job] = len(turn.Had) }); err != nil {
			t.Fatal(err)
		}
	}
	if had[1] != 0 || had[2] != 1 || had[3] != 0 {
		t.Errorf("the pulls had %v jobs before, want 1 before job 2 and none before the others", had)
	}
}
