package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// register is the lease of a job, as those who ask see it.
type register struct {
	live    int32 // attempt; 0: none
	outcome byte  // of the last attempt that ended
	last    int32
}

// leaseModel: a lease is granted while there is none, for an attempt that is newer than all before; whoever is told of it is so while it is live; it is kept while it is live; it ends once, and that
// end is recorded again as often as it is said.
var leaseModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byJob := map[int64][]porcupine.Operation{}
		var jobs []int64
		for _, op := range history {
			job := op.Input.(Op).Job
			if byJob[job] == nil {
				jobs = append(jobs, job)
			}
			byJob[job] = append(byJob[job], op)
		}
		slices.Sort(jobs)
		parts := make([][]porcupine.Operation, len(jobs))
		for i, job := range jobs {
			parts[i] = byJob[job]
		}
		return parts
	},
	Init: func() any { return register{} },
	Step: func(state, input, _ any) (bool, any) {
		s, op := state.(register), input.(Op)
		switch {
		case op.Verb == "grant":
			return s.live == 0 && op.Attempt > s.last, register{op.Attempt, s.outcome, s.last}
		case op.Verb == "told": // also who asks again: the lease is live by then
			return s.live == op.Attempt, s
		case op.Verb == "renew":
			return (s.live == op.Attempt) == op.Is, s
		case op.Client == "log":
			return s.live == op.Attempt, register{0, op.Outcome, op.Attempt}
		case op.Is: // whoever said it, the log has it by then
			return s.last == op.Attempt && s.outcome == op.Outcome || s.last > op.Attempt || s.live > op.Attempt, s
		}
		return s.live != op.Attempt, s
	},
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
}

// linearizable says what is wrong with the history of leases; empty: nothing.
func linearizable(history []Op) string {
	clients := map[string]int{}
	ops := make([]porcupine.Operation, len(history))
	for i, op := range history {
		if _, ok := clients[op.Client]; !ok {
			clients[op.Client] = len(clients)
		}
		ops[i] = porcupine.Operation{ClientId: clients[op.Client], Input: op, Call: op.Called, Return: op.Returned}
	}
	result := porcupine.CheckOperationsTimeout(leaseModel, ops, 5*time.Second)
	if result == porcupine.Ok {
		return ""
	}
	text := "the history of leases is not linearizable: " + string(result)
	for _, op := range history {
		text += fmt.Sprintf("\n  %+v", op)
	}
	return text
}
