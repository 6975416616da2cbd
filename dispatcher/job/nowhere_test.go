package job

import (
	"strings"
	"testing"

	"github.com/divvyhq/divvy/shares"
)

// One requirement that rules out every queue is named with what there is; else each queue with its reason.
func TestNowhere(t *testing.T) {
	n := func(i int) *int { return &i }
	licence, disk := shares.DefaultResource(), shares.DefaultResource()
	licence.Name, licence.Capacity = "licence", 20
	disk.Name, disk.Capacity, disk.PerQueue = "disk", 10, true
	v := shares.Version{Resources: []shares.Resource{licence, disk}, Queues: []shares.Queue{
		{Name: "CERN", State: shares.Online, Cores: 8, MemoryMB: 16000, WalltimeS: 36000, Slots: n(100), Labels: map[string]string{"os": "el9"}},
		{Name: "BNL", State: shares.Online, Cores: 32, MemoryMB: 4000, WalltimeS: 7200, Slots: n(16), MaxIO: 5000, DenyShares: []string{"Test"}},
	}}.WithIO()
	for want, c := range map[string]struct {
		need  Requirements
		share string
	}{
		"": {Requirements{Cores: 16}, "A"},
		"cores: needs 64, no queue allows more than 16":                {Requirements{Cores: 64}, "A"},
		"walltime_s: needs 90000, no queue allows more than 36000":     {Requirements{Cores: 1, WalltimeS: 90000}, ""},
		`queues: none is meant by CREN, the site has CERN, BNL`:        {Requirements{Cores: 1, Queues: []string{"CREN"}}, "A"},
		`label gpu: needs "a100", no queue has it`:                     {Requirements{Cores: 1, Labels: map[string]string{"gpu": "a100", "os": "el9"}}, "A"},
		"resources: needs 500 units of licence, the site has 20":       {Requirements{Cores: 1, Resources: map[string]int64{"licence": 500}}, "A"},
		`no resource is called "licenses": the site has licence, disk`: {Requirements{Cores: 1, Resources: map[string]int64{"licenses": 1}}, "A"},
		"CERN: resources: needs 11 units of disk, queue has 10; BNL: resources: needs 11 units of disk, queue has 10": {
			Requirements{Cores: 1, Resources: map[string]int64{"disk": 11}}, "A"},
		"CERN: cores: needs 16, queue allows 8; BNL: memory_mb: needs 16000, queue allows 4000": {Requirements{Cores: 16, MemoryMB: 16000}, "A"},
		"CERN: cores: needs 16, queue allows 8; BNL: share: the queue denies Test":              {Requirements{Cores: 16}, "Test"},
		"CERN: not among the task's queues; BNL: max_io: needs 6 MB/s, queue allows 5": {
			Requirements{Cores: 1, Queues: []string{"BNL"}, Resources: map[string]int64{shares.IO: 6000}}, ""},
	} {
		if want != "" {
			want = nowhere + want
		}
		if got := Nowhere(v, c.need, c.share); got != want {
			t.Errorf("%+v: %q, want %q", c.need, got, want)
		}
	}
	if got := Nowhere(shares.Version{}, Requirements{Cores: 1}, ""); !strings.HasSuffix(got, "the site has none") {
		t.Error(got)
	}
	for range 10 {
		v.Queues = append(v.Queues, shares.Queue{Name: "more", State: shares.Test, Cores: 64})
	}
	if got := Nowhere(v, Requirements{Cores: 64}, ""); !strings.HasSuffix(got, "nor by a label; and 7 more queues") {
		t.Error(got)
	}
	// Queues come back from being offline or drained: only what they do not allow even then is impossible.
	for i, state := range []shares.QueueState{shares.Offline, shares.Drain} {
		v.Queues = v.Queues[:2]
		v.Queues[0].State, v.Queues[1].State = state, state
		if got := Nowhere(v, Requirements{Cores: 16}, "A"); got != "" {
			t.Error(i, got)
		}
		if got, want := Nowhere(v, Requirements{Cores: 64}, "A"), nowhere+"cores: needs 64, no queue allows more than 16"; got != want || v.Queues[0].State != state {
			t.Errorf("%q, want %q; the site's queue is %v now", got, want, v.Queues[0].State)
		}
	}
}
