package retry_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/shares"
	policy "github.com/divvyhq/divvy/shares/retry"
)

// queues are a small and a large one.
var queues = []shares.Queue{{ID: 1, Name: "small", State: shares.Online, MemoryMB: 2000, WalltimeS: 600}, {ID: 2, Name: "big", State: shares.Online, MemoryMB: 4000, WalltimeS: 3600}}

func TestRequirementsOfTheNextAttempt(t *testing.T) {
	memory := policy.Rule{Name: "r", Action: policy.IncreaseMemory, Factor: 1.5}
	walltime := policy.Rule{Name: "r", Action: policy.IncreaseWalltime, Factor: 4}
	avoid := policy.Rule{Name: "r", Action: policy.AvoidQueue}
	at := func(id shares.QueueID) retry.Attempt {
		return retry.Attempt{Queue: id, Failure: policy.Failure{Outcome: policy.Failed}}
	}
	used := func(memoryMB int64, took time.Duration) retry.Attempt {
		a := at(1)
		a.MemoryMB, a.Took = memoryMB, took
		return a
	}
	for name, c := range map[string]struct {
		rule policy.Rule
		need job.Requirements
		last retry.Attempt
		want *job.Requirements
		note string
	}{
		"memory":                    {memory, job.Requirements{Cores: 1, MemoryMB: 2000}, at(1), &job.Requirements{Cores: 1, MemoryMB: 3000}, "memory 2000 → 3000 MB"},
		"memory that it used":       {memory, job.Requirements{Cores: 1, MemoryMB: 1000}, used(1501, 0), &job.Requirements{Cores: 1, MemoryMB: 2252}, "memory 1000 → 2252 MB"},
		"memory of nobody knows":    {memory, job.Requirements{Cores: 1}, at(1), nil, ""},
		"more than any queue has":   {memory, job.Requirements{Cores: 1, MemoryMB: 3000}, at(2), nil, "as before, since no queue could run it then: memory 3000 → 4500 MB"},
		"it ran nowhere before":     {memory, job.Requirements{Cores: 1, MemoryMB: 5000}, at(2), &job.Requirements{Cores: 1, MemoryMB: 7500}, "memory 5000 → 7500 MB"},
		"walltime":                  {walltime, job.Requirements{Cores: 1, WalltimeS: 600}, at(1), &job.Requirements{Cores: 1, WalltimeS: 2400}, "walltime 600 → 2400 s"},
		"walltime that it took":     {walltime, job.Requirements{Cores: 1}, used(0, 10*time.Second+time.Microsecond), &job.Requirements{Cores: 1, WalltimeS: 44}, "walltime 0 → 44 s"},
		"another queue":             {avoid, job.Requirements{Cores: 1}, at(1), &job.Requirements{Cores: 1, Queues: []string{"!small"}}, "not at small"},
		"avoided already":           {avoid, job.Requirements{Cores: 1, Queues: []string{"!small"}}, at(1), nil, ""},
		"the last queue":            {avoid, job.Requirements{Cores: 1, Queues: []string{"!small"}}, at(2), nil, "as before, since no queue could run it then: not at big"},
		"a queue that is gone":      {avoid, job.Requirements{Cores: 1}, at(3), nil, ""},
		"claims do not count there": {memory, job.Requirements{Cores: 1, MemoryMB: 100, Claims: &job.ClaimNeed{Queue: "elsewhere", Node: "n"}}, at(1), &job.Requirements{Cores: 1, MemoryMB: 150, Claims: &job.ClaimNeed{Queue: "elsewhere", Node: "n"}}, "memory 100 → 150 MB"},
	} {
		t.Run(name, func(t *testing.T) {
			site := retry.Site{Policy: &policy.Policy{Rules: []policy.Rule{c.rule}}, Queues: queues, Now: noon}
			v := retry.Judge(retry.Tried{Number: 1, Most: 2, Need: c.need, Attempts: []retry.Attempt{c.last}}, site)
			note := "rule r: " + c.rule.String()
			if c.note != "" {
				note += ": " + c.note
			}
			if diff := cmp.Diff(c.want, v.Need); diff != "" || v.Note != note {
				t.Errorf("%s\nnoted %q, want %q", diff, v.Note, note)
			}
		})
	}
}

// Requirements change only where a queue can run the job then, or none could before; and what the job was stays as it was.
func TestNextAttemptRunsSomewhere(t *testing.T) {
	fits := func(need job.Requirements) bool {
		return job.RunsAt(need, queues[0]) || job.RunsAt(need, queues[1])
	}
	rapid.Check(t, func(t *rapid.T) {
		need := job.Requirements{Cores: 1, MemoryMB: rapid.Int64Range(0, 5000).Draw(t, "memory"), WalltimeS: rapid.Int64Range(0, 4000).Draw(t, "walltime")}
		need.Queues = rapid.SampledFrom([][]string{nil, {"!small"}, {"big"}}).Draw(t, "queues")
		rule := policy.Rule{Name: "r", Factor: rapid.Float64Range(1.1, 4).Draw(t, "factor"),
			Action: rapid.SampledFrom([]policy.Action{policy.IncreaseMemory, policy.IncreaseWalltime, policy.AvoidQueue}).Draw(t, "action")}
		last := retry.Attempt{Queue: shares.QueueID(rapid.IntRange(1, 3).Draw(t, "queue")), Failure: policy.Failure{Outcome: policy.Failed,
			MemoryMB: rapid.Int64Range(0, 5000).Draw(t, "used"), Took: time.Duration(rapid.IntRange(0, 4000).Draw(t, "took")) * time.Second}}
		before := append([]string(nil), need.Queues...)
		v := retry.Judge(retry.Tried{Number: 1, Most: 2, Need: need, Attempts: []retry.Attempt{last}}, retry.Site{Policy: &policy.Policy{Rules: []policy.Rule{rule}}, Queues: queues, Now: noon})
		if !cmp.Equal(before, need.Queues) {
			t.Fatalf("the job's own requirements changed: %v", need.Queues)
		}
		if v.Need != nil && !fits(*v.Need) && fits(need) {
			t.Fatalf("%+v runs nowhere, %+v did", *v.Need, need)
		}
		if v.Need != nil && (v.Need.MemoryMB < need.MemoryMB || v.Need.WalltimeS < need.WalltimeS) {
			t.Fatalf("less than before: %+v", *v.Need)
		}
	})
}

func TestTook(t *testing.T) {
	for seconds, want := range map[float64]time.Duration{0: 0, 12: 12 * time.Second, 0.1 + 0.2: 300 * time.Millisecond, 10.000001: 10*time.Second + time.Microsecond} {
		if got := retry.Took(seconds); got != want {
			t.Errorf("%v s are %v, want %v", seconds, got, want)
		}
	}
}
