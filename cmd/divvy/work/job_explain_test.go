package work

import (
	"bytes"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	gates "github.com/divvyhq/divvy/dispatcher/explain"

	"github.com/divvyhq/divvy/internal/golden"
)

func TestExplanations(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	figure := func(f float64) *float64 { return &f }
	ready := wire.Explanation{Job: 12, Task: 7, Share: "Production/MC", State: "ready", At: at, Version: 3, Gate: string(gates.GateShare),
		Summary: "It waits for its share's turn: CERN: Production/Rep comes first: 2 below its target (target 300, held 298); Production/MC: 1 above its target (target 700, held 701). It starts in about 3 min 20 s.",
		Pools: []wire.PathStanding{{Pool: "default", Capacity: 1000, Round: 1000, Held: 999, AtTarget: figure(90.4), Levels: []wire.LevelStanding{
			{Share: "Production", Weight: 70, Product: 0.7, Tier: 1, Target: 1000, Held: 999, Deficit: 1, Ready: 812, Rank: 1, Of: 2},
			{Share: "Production/MC", Weight: 50, Product: 0.35, Tier: 1, Target: 700, Held: 701, Deficit: -1, Ready: 800, Rank: 2, Of: 2}}}},
		Queues: []wire.QueueGate{{Queue: "CERN", Pool: "default", Gate: string(gates.GateShare), Pilots: 40, Reason: "Production/Rep comes first: 2 below its target (target 300, held 298); Production/MC: 1 above its target (target 700, held 701)"},
			{Queue: "BNL", Pool: "default", Gate: string(gates.GateStructural), Reason: "queue is draining"}},
		Position: &wire.Position{Before: 139, Ready: 800},
		ETA:      &wire.ETA{Known: true, Seconds: 200, How: "139 ready jobs and itself ÷ (1 units a second end in pool default × 0.7 of them for Production/MC ÷ 1 units a job) = about 3 min 20 s"}}
	waiting := wire.Explanation{Job: 13, Task: 8, Share: "Test", State: "waiting", Gate: string(gates.GatePaused), Summary: "It is not ready: task 8 is paused.",
		Waits: &wire.TaskWait{TaskState: "paused", Reason: "task 8 is paused"}}
	claimed := ready
	bound := at.Add(-3 * time.Minute)
	claimed.Gate, claimed.Pools, claimed.Queues = string(gates.GateClaimElsewhere), nil, []wire.QueueGate{{Queue: "CERN", Gate: string(gates.GateClaimElsewhere), Pilots: 40,
		Reason: "claim 0/sgx/1/gpus is bound at node n1 of queue GPU since 08:57:00 (3m0s), held by 2 jobs (21, 22)"}}
	claimed.Claims = []wire.ClaimStanding{{ID: 7, Key: "0/sgx/1/gpus", State: "bound", Queue: "GPU", Node: "n1", Sharers: 2, BoundAt: &bound,
		Template: wire.ClaimTakes{Name: "gpus", Devices: map[string]int{"gpu": 1}}}, {ID: 8, Key: "0/node", State: "pending", Template: wire.ClaimTakes{Name: "node", Node: true}}}
	many := ready
	many.Queues, many.Pools = nil, nil
	many.Position, many.ETA = &wire.Position{Before: 10000, More: true, Ready: 10000000}, &wire.ETA{How: "unknown: nothing has ended in the last 5 minutes where it could run"}
	for range 12 {
		many.Queues = append(many.Queues, wire.QueueGate{Queue: "SMALL", Gate: string(gates.GateStructural), Reason: "cores: needs 8, queue allows 1"})
	}
	many.Queues = append(many.Queues, wire.QueueGate{Queue: "BIG", Gate: string(gates.GateCap), Reason: "8 of the queue's 8 slots are held, it needs 8"})
	ended := wire.Explanation{Job: 12, Task: 7, Share: "Production/MC", State: "finished", Summary: "Attempt 2 got a slot of CERN after 1.5 s: Production was further below its target than Test (3.5 and 0.25 units).",
		Decision: &wire.Decision{Attempt: 2, Queue: "CERN", Pilot: "vm-1", Node: "vm", ReadyAt: at, ClaimedAt: at.Add(1500 * time.Millisecond), WaitedS: 1.5, Version: 3, Recorded: true,
			Record: &wire.Record{At: at, Units: 1, Round: 1000, Candidates: 6, Unfit: 2, Barred: 1, Daemon: 4,
				Skipped: []wire.Skipped{{Share: "Analysis", Reason: "unfit"}, {Share: "Reprocessing", Reason: "max"}}, Seq: 77, Winner: "Production/MC", RunnerUp: "Test", Parted: 1},
			Levels: []wire.DecisionLevel{{Share: "Production", Deficit: figure(3.5), RunnerUp: "Test", RunnerUpDeficit: figure(0.25)}, {Share: "Production/MC", Deficit: figure(1.75)}}}}
	lost := ended
	lost.Decision = &wire.Decision{Attempt: 1, Queue: "CERN", Pilot: "vm-1", ReadyAt: at, ClaimedAt: at.Add(time.Hour), WaitedS: 3600, Version: 2,
		Note: "not recorded: the log of that time could not be read again"}
	why := wire.Why{A: "Production/MC", B: "Test", At: at, Version: 3, Summary: "Of the last 100 decisions, Production/MC won 70 and Test 5. …",
		ABeforeB: wire.Duel{Times: 30, Deficit: figure(2.5), RunnerUpDeficit: figure(1.25), Last: &at},
		AWon:     70, BWon: 5,
		Pools: []wire.WhyStanding{{Pool: "default", A: ready.Pools[0].Levels[0], B: wire.LevelStanding{Share: "Test", Weight: 5, Target: 50, Held: 51, Deficit: -1, Rank: 2, Of: 2}}}}
	var b bytes.Buffer
	for name, write := range map[string]func(){
		"job-explain-ready":        func() { writeExplanation(cli.Paper{Writer: &b, Wide: false}, ready) },
		"job-explain-claims":       func() { writeExplanation(cli.Paper{Writer: &b, Wide: false}, claimed) },
		"job-explain-waiting":      func() { writeExplanation(cli.Paper{Writer: &b, Wide: false}, waiting) },
		"job-explain-many":         func() { writeExplanation(cli.Paper{Writer: &b, Wide: false}, many) },
		"job-explain-many-wide":    func() { writeExplanation(cli.Paper{Writer: &b, Wide: true}, many) },
		"job-explain-ended":        func() { writeExplanation(cli.Paper{Writer: &b, Wide: false}, ended) },
		"job-explain-not-recorded": func() { writeExplanation(cli.Paper{Writer: &b, Wide: false}, lost) },
		"shares-why":               func() { writeWhy(cli.Paper{Writer: &b}, why) },
	} {
		t.Run(name, func(t *testing.T) {
			b.Reset()
			write()
			golden.Equal(t, "../testdata/golden/"+name+".txt", b.String())
		})
	}
}
