package replay

import (
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// A unit is kept for a user whose jobs no slot here can run, until it has been kept for long enough: then a job gets it whose claim takes units, and
// not the job itself. For how long it was kept is not in the log, so this is no difference.
func TestUnitsOfClaimsAreKept(t *testing.T) {
	t.Parallel()
	h, site := newHistory(machine.Config{}), oneShare(t, "q1", "q2")
	site.Resources = []shares.Resource{{Name: "licence", Capacity: 2, Split: shares.Split{By: shares.SplitByUser}, MaxBypass: 10, MaxHold: time.Second}}
	claim := func(id int64) entry.Claimed {
		return entry.Claimed{Claim: id, Task: 1, Key: "k", Jobs: 1, SharingID: "ann",
			Template: shares.ClaimTemplate{Name: "t", Resources: map[string]int64{"licence": 1}}}
	}
	h.all(t,
		entry.Adopted{Number: 1, Site: &site}, entry.Tick{Now: h.now}, entry.Polled{Queue: 1, Is: true}, entry.Polled{Queue: 2, Is: true},
		entry.Shaped{Shape: 1, Need: job.Requirements{Cores: 1}},
		entry.Shaped{Shape: 2, Need: job.Requirements{Cores: 1, Queues: []string{"q2"}, Resources: map[string]int64{"licence": 1}, SharingID: "bob"}},
		claim(1), claim(2), entry.Joined{Task: 1, Low: 1, High: 1, Claims: []int64{1}}, entry.Joined{Task: 1, Low: 2, High: 2, Claims: []int64{2}},
		entry.Enqueued{Task: 1, Share: 1, Shape: 1, Low: 1, High: 2, Attempt: 1, User: "ann"},
		entry.Enqueued{Task: 3, Share: 1, Shape: 2, Low: 3, High: 4, Attempt: 1, User: "bob"},
	)
	given := []machine.Verdict{machine.Given, machine.None, machine.Given}
	for i, after := range []time.Duration{0, 0, 2 * time.Second} {
		h.now = h.now.Add(after)
		h.apply(entry.Tick{Now: h.now})
		if d := h.pull(machine.Pull{Queue: 1, Slot: job.Slot{Cores: 1}, Most: 1, Pilot: "p", At: h.now}); d.Verdict != given[i] {
			t.Fatalf("pull %d: verdict %v, want %v", i, d.Verdict, given[i])
		}
		h.seal()
	}
	h.exact(t, h.score(t, machine.Config{}, nil))
}
