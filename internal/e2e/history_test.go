package e2e

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// verb is what was done to a job.
type verb string

const (
	pulled   verb = "pull"    // a client got the lease, or got it again by its request id
	unheard  verb = "unheard" // a pull leased the job, but no client ever got the answer
	renewed  verb = "renew"
	finished verb = "finish"
	expired  verb = "expire" // the lease ran out
	rest     verb = "rest"   // what the database says in the end
)

// said is one operation of the history, with what the client saw of its answer.
type said struct {
	job     int64
	attempt int
	most    int // attempts of the job
	verb    verb
	lease   string // token
	daemon  string // URL of the one that answered a pull or a finish

	outcome string // of a finish
	unknown bool   // no answer: it may have happened, now or later, or not
	kept    bool   // of a renewal
	verdict string // of a finish
	state   string // of the job after a finish that was said once; of the job at rest
	past    string // of the job at rest

	from, to int64 // wall clock, ns; the database's is the same
}

// history is what all clients saw.
type history struct {
	mu  sync.Mutex
	all []said
}

func (h *history) add(ops ...said) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, ops...)
}

func (h *history) list() []said {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all
}

func wall() int64 { return time.Now().UnixNano() }

// never is when an operation that got no answer has happened at the latest.
const never = math.MaxInt64

// jobNow is the state of one job in the model: how its attempts ended, by letter, and the lease that runs.
type jobNow struct {
	past  string // f finished, x failed, l lost
	lease string // "": none
}

// over says whether no attempt may follow.
func (s jobNow) over(most int) bool { return strings.HasSuffix(s.past, "f") || len(s.past) >= most }

func (s jobNow) ended(letter string) jobNow { return jobNow{past: s.past + letter} }

// step lists the states that an operation may lead to; none: it cannot have gone as it was seen.
func (s jobNow) step(o said) []any {
	live := s.lease != "" && s.lease == o.lease
	switch o.verb {
	case pulled, unheard:
		if live {
			return []any{s}
		}
		if s.lease == "" && !s.over(o.most) && o.attempt == len(s.past)+1 {
			return []any{jobNow{s.past, o.lease}}
		}
	case renewed:
		if o.unknown || o.kept == live {
			return []any{s}
		}
	case expired:
		if s.lease != "" && o.attempt == len(s.past)+1 {
			return []any{s.ended("l")}
		}
	case finished:
		return s.finish(o, live)
	case rest:
		if s.lease == "" && s.past == o.past && s.over(o.most) && (o.state == "finished") == strings.HasSuffix(s.past, "f") {
			return []any{s}
		}
	}
	return nil
}

func (s jobNow) finish(o said, live bool) []any {
	letter := map[string]string{"finished": "f", "failed": "x"}[o.outcome]
	next := s.ended(letter)
	switch {
	case o.unknown && live:
		return []any{s, next}
	case o.unknown:
		return []any{s}
	case live:
		state := "ready"
		if next.over(o.most) {
			state = o.outcome
		}
		// The daemon that decides may go between the end and its answer. Another one says the end again then, and answers
		// with the state of the job at that moment: it may have been given to somebody.
		given := state == "ready" && o.state == "leased"
		judged := o.outcome == "failed" && o.state == "waiting" // a rule decides, a moment later
		if o.verdict == "recorded" && (o.state == "" || o.state == state || given || judged) {
			return []any{next}
		}
	case o.verdict == "recorded":
		if o.attempt <= len(s.past) && s.past[o.attempt-1:o.attempt] == letter {
			return []any{s} // a repeat
		}
	default: // lease_lost
		if o.attempt > len(s.past) || s.past[o.attempt-1:o.attempt] != letter {
			return []any{s}
		}
	}
	return nil
}

// model is the specification of the leases of a job; each job is a history of its own.
func model() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{jobNow{}} },
		Step: func(state, input, _ any) []any { return state.(jobNow).step(input.(said)) },
		Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
			by := map[int64][]porcupine.Operation{}
			for _, o := range all {
				job := o.Input.(said).job
				by[job] = append(by[job], o)
			}
			var parts [][]porcupine.Operation
			for _, part := range by {
				parts = append(parts, part)
			}
			return parts
		},
		DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
	}
	return m.ToModel()
}

func operations(all []said) []porcupine.Operation {
	ops := make([]porcupine.Operation, len(all))
	for i, o := range all {
		ops[i] = porcupine.Operation{Input: o, Call: o.from, Return: o.to}
	}
	return ops
}

// linearizable checks the history and shows the jobs that it breaks on.
func linearizable(t *testing.T, all []said) {
	t.Helper()
	began := time.Now()
	verdict := porcupine.CheckOperationsTimeout(model(), operations(all), time.Minute)
	t.Logf("porcupine: %s, %d operations in %v", verdict, len(all), time.Since(began).Round(time.Millisecond))
	if verdict == porcupine.Ok {
		return
	}
	t.Errorf("the history of leases is not linearizable: %s", verdict)
	shown := 0
	for _, part := range model().Partition(operations(all)) {
		if shown < 5 && porcupine.CheckOperationsTimeout(model(), part, 5*time.Second) != porcupine.Ok {
			shown++
			for _, o := range part {
				t.Logf("  %+v", o.Input)
			}
		}
	}
}

// The model accepts what may happen and refuses what must not.
func TestModel(t *testing.T) {
	op := func(v verb, attempt int, lease string, from, to int64) said {
		return said{job: 1, attempt: attempt, most: 2, verb: v, lease: lease, from: from, to: to}
	}
	ended := func(o said, outcome, verdict, state string) said {
		o.outcome, o.verdict, o.state = outcome, verdict, state
		return o
	}
	kept := func(o said, yes bool) said { o.kept = yes; return o }
	lost := func(o said) said { o.unknown, o.to = true, never; return o }
	end := func(past, state string) said {
		return said{job: 1, most: 2, verb: rest, past: past, state: state, from: 100, to: never}
	}
	for name, c := range map[string]struct {
		ok  bool
		all []said
	}{
		"pull, finish":              {true, []said{op(pulled, 1, "a", 1, 2), ended(op(finished, 1, "a", 3, 4), "finished", "recorded", "finished"), end("f", "finished")}},
		"two leases at once":        {false, []said{op(pulled, 1, "a", 1, 2), op(pulled, 1, "b", 3, 4), ended(op(finished, 1, "a", 5, 6), "finished", "recorded", "finished"), end("f", "finished")}},
		"the same lease again":      {true, []said{op(pulled, 1, "a", 1, 2), op(pulled, 1, "a", 3, 4), ended(op(finished, 1, "a", 5, 6), "finished", "recorded", "finished"), end("f", "finished")}},
		"leased after the end":      {false, []said{op(pulled, 1, "a", 1, 2), ended(op(finished, 1, "a", 3, 4), "finished", "recorded", "finished"), op(pulled, 2, "b", 5, 6)}},
		"expired, then the fence":   {true, []said{op(pulled, 1, "a", 1, 2), op(expired, 1, "", 3, never), ended(op(finished, 1, "a", 5, 6), "finished", "lease_lost", ""), op(pulled, 2, "b", 7, 8), ended(op(finished, 2, "b", 9, 10), "failed", "recorded", "failed"), end("lx", "failed")}},
		"no fence":                  {false, []said{op(pulled, 1, "a", 1, 2), op(expired, 1, "", 3, never), op(pulled, 2, "b", 7, 8), ended(op(finished, 1, "a", 9, 10), "finished", "recorded", "finished"), end("lf", "finished")}},
		"a repeat of a finish":      {true, []said{op(pulled, 1, "a", 1, 2), ended(op(finished, 1, "a", 3, 4), "finished", "recorded", "finished"), ended(op(finished, 1, "a", 5, 6), "finished", "recorded", "")}},
		"a repeat that is refused":  {false, []said{op(pulled, 1, "a", 1, 2), ended(op(finished, 1, "a", 3, 4), "finished", "recorded", "finished"), ended(op(finished, 1, "a", 5, 6), "finished", "lease_lost", "")}},
		"no answer, it happened":    {true, []said{op(pulled, 1, "a", 1, 2), lost(ended(op(finished, 1, "a", 3, 4), "finished", "", "")), end("f", "finished")}},
		"no answer, it did not":     {true, []said{op(pulled, 1, "a", 1, 2), lost(ended(op(finished, 1, "a", 3, 4), "failed", "", "")), op(expired, 1, "", 9, never), op(pulled, 2, "b", 11, 12), ended(op(finished, 2, "b", 13, 14), "finished", "recorded", "finished"), end("lf", "finished")}},
		"kept after the end":        {false, []said{op(pulled, 1, "a", 1, 2), ended(op(finished, 1, "a", 3, 4), "finished", "recorded", "finished"), kept(op(renewed, 1, "a", 5, 6), true)}},
		"lost while it is live":     {false, []said{op(pulled, 1, "a", 1, 2), kept(op(renewed, 1, "a", 3, 4), false), ended(op(finished, 1, "a", 5, 6), "finished", "recorded", "finished")}},
		"more attempts than it has": {false, []said{op(pulled, 1, "a", 1, 2), op(expired, 1, "", 3, 4), op(pulled, 2, "b", 5, 6), op(expired, 2, "", 7, 8), op(pulled, 3, "c", 9, 10)}},
		"a rule decides":            {true, []said{op(pulled, 1, "a", 1, 2), ended(op(finished, 1, "a", 3, 4), "failed", "recorded", "waiting"), op(pulled, 2, "b", 5, 6), ended(op(finished, 2, "b", 7, 8), "failed", "recorded", "waiting"), end("xx", "failed")}},
		"finished, and a rule":      {false, []said{op(pulled, 1, "a", 1, 2), ended(op(finished, 1, "a", 3, 4), "finished", "recorded", "waiting"), end("f", "finished")}},
		"ready though over":         {false, []said{op(pulled, 1, "a", 1, 2), op(expired, 1, "", 3, 4), op(pulled, 2, "b", 5, 6), ended(op(finished, 2, "b", 7, 8), "failed", "recorded", "ready")}},
		"the database says other":   {false, []said{op(pulled, 1, "a", 1, 2), ended(op(finished, 1, "a", 3, 4), "finished", "recorded", "finished"), end("x", "failed")}},
	} {
		if got := porcupine.CheckOperations(model(), operations(c.all)); got != c.ok {
			t.Errorf("%s: accepted %v, want %v", name, got, c.ok)
		}
	}
}
