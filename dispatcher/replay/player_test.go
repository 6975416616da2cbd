package replay

import (
	"testing"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// A gang starts in several pulls at once, so that grants of one pull may stand between those of another: what each was given before is known all
// the same, also to another site's machine.
func TestPullsBetweenPulls(t *testing.T) {
	t.Parallel()
	h, site := newHistory(machine.Config{}), oneShare(t, "q1", "q2")
	h.all(t, entry.Adopted{Number: 1, Site: &site}, entry.Tick{Now: h.now}, entry.Polled{Queue: 1, Is: true}, entry.Polled{Queue: 2, Is: true},
		entry.Shaped{Shape: 1, Need: job.Requirements{Cores: 1, Queues: []string{"q1"}}},
		entry.Shaped{Shape: 2, Need: job.Requirements{Cores: 2, Queues: []string{"q2"}}},
		entry.Enqueued{Task: 1, Share: 1, Shape: 1, Low: 1, High: 2, Attempt: 1, User: "u"},
		entry.Enqueued{Task: 2, Share: 1, Shape: 2, Low: 3, High: 3, Attempt: 1, User: "u"})
	h.seal()
	for q := range 2 {
		h.pull(machine.Pull{Queue: shares.QueueID(q + 1), Slot: job.Slot{Cores: 2}, Most: 2, Pilot: "a"})
	}
	if len(h.entries) != 3 {
		t.Fatalf("%+v, want three grants", h.entries)
	}
	h.entries[1], h.entries[2] = h.entries[2], h.entries[1]
	h.seal()
	if s := h.score(t, machine.Config{}, &site); s.Compared != 3 || s.Differences != 0 {
		t.Errorf("of %d decisions made again %d are others, want none of three: %+v", s.Compared, s.Differences, s.First)
	}
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
