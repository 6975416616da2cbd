package api

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/lookup"
)

func (f *fakeDispatcher) ExplainTask(_ context.Context, task int64) (dispatcher.TaskExplanation, error) {
	return dispatcher.TaskExplanation{Task: task, State: "ready", Summary: "No queue can run it."}, nil
}

func (f *fakeDispatcher) Explain(_ context.Context, job int64) (dispatcher.Explanation, error) {
	target := 3.5
	return dispatcher.Explanation{Job: job, Task: 3, Share: "A", State: "ready", Gate: explain.GateShare, At: time.Unix(1e9, 0).UTC(),
		Pools: []explain.PathStanding{{Pool: "default", Capacity: -1, Levels: []explain.LevelStanding{{Share: "A", Rank: 1, Of: 2}}}},
		Queues: []dispatcher.QueueGate{{Queue: "CERN", Pool: "default", Gate: explain.GateShare, Reason: "B comes first",
			First: &explain.Side{Leaf: "B", Share: "B", Deficit: 2, Target: &target, Held: &target}}},
		Position: &explain.Position{Before: 4}, ETA: &explain.ETA{Known: true, Seconds: 60, How: "so"},
		Decision: &explain.Decision{Attempt: 1, Levels: []explain.DecisionLevel{{Share: "A", Deficit: &target}}, Record: &explain.Record{}},
	}, f.err
}

func (f *fakeDispatcher) Why(_ context.Context, r dispatcher.WhyRequest) (dispatcher.Why, error) {
	f.why = r
	return dispatcher.Why{A: r.A, B: r.B, At: time.Unix(1e9, 0).UTC(), Pools: []explain.WhyStanding{{Pool: "default"}},
		ABeforeB: explain.Duel{Times: 1}}, f.err
}

func TestExplainNoJob(t *testing.T) {
	b := newBench(t)
	b.dispatcher.err = fmt.Errorf("explain: %w: 7", lookup.ErrNoJob)
	if p := b.problem(b.call("GET", "/v1/jobs/7/explain", ""), 404); p.Code != "no_job" {
		t.Error(p)
	}
}

func TestWhy(t *testing.T) {
	b := newBench(t)
	for query, want := range map[string]dispatcher.WhyRequest{
		"a=A&b=B":                    {A: "A", B: "B", Last: 10000, From: time.Hour},
		"a=A/x&b=B&last=5&since=90m": {A: "A/x", B: "B", Last: 5, From: 90 * time.Minute},
		"a=A&b=B&since=7d":           {A: "A", B: "B", Last: 10000, From: 7 * 24 * time.Hour},
	} {
		if w := b.call("GET", "/v1/shares/why?"+query, ""); w.Code != 200 || b.dispatcher.why != want {
			t.Errorf("%s: %d, %+v", query, w.Code, b.dispatcher.why)
		}
	}
	b.dispatcher.err = &job.FieldError{Field: "a", Value: `"X"`, Want: "the path of a share"}
	for query, at := range map[string]string{
		"a=A": "query.b", "a=A&b=B&last=0": "query.last", "a=A&b=B&last=100001": "query.last", "a=A&b=B&since=soon": "query.since",
		"a=A&b=B&since=-1h": "query.since", "a=X&b=B": "query.a",
	} {
		p := b.problem(b.call("GET", "/v1/shares/why?"+query, ""), 422)
		if len(p.Errors) != 1 || p.Errors[0].Location != at {
			t.Errorf("%s: %v, want a fault of %s", query, p, at)
		}
	}
}
