package api

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/wanted"
)

func (f *fakeDispatcher) ShareStock(share, _ string) []dispatcher.ShareStock {
	return []dispatcher.ShareStock{{Share: share, Sets: []explain.QueueSet{{Queues: []string{"CERN"}, Ready: 3, Startable: -1}},
		Gaps: []explain.StockGap{{Reason: "no jobs", Queues: []string{"RAL"}}}}}
}

func (f *fakeDispatcher) TaskQueues(_ context.Context, _ int64) ([]dispatcher.KindQueues, error) {
	return []dispatcher.KindQueues{{Share: "A", Needs: job.Requirements{Cores: 1, Labels: map[string]string{}, Queues: []string{}},
		Jobs: 2, Queues: []dispatcher.QueueFit{{Queue: "CERN", State: "online", Runs: true}}}}, f.err
}

func TestStock(t *testing.T) {
	b := newBench(t)
	w := b.call("GET", "/v1/stock?share=A", "")
	var page wire.Page[dispatcher.ShareStock]
	if err := json.Unmarshal(w.Body.Bytes(), &page); w.Code != 200 || err != nil || len(page.Items) != 1 || page.Items[0].Share != "A" || page.Items[0].Sets[0].Ready != 3 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if p := b.problem(b.call("GET", "/v1/stock?queue=nowhere", ""), 404); p.Code != "unknown_queue" {
		t.Error(p)
	}
	w = b.call("GET", "/v1/tasks/3/queues", "")
	var kinds wire.Page[dispatcher.KindQueues]
	if err := json.Unmarshal(w.Body.Bytes(), &kinds); w.Code != 200 || err != nil || len(kinds.Items) != 1 || !kinds.Items[0].Queues[0].Runs {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A daemon that has not read its state yet does not say that there is nothing.
func TestNothingIsSaidBeforeTheStateIsRead(t *testing.T) {
	b := newBench(t)
	b.dispatcher.loading = dispatcher.ErrUnavailable
	for _, path := range []string{"/v1/queues", "/v1/queues/CERN", "/v1/shares", "/v1/stock", "/v1/jobs?queue=nowhere"} {
		w := b.call("GET", path, "")
		if p := b.problem(w, 503); p.Code != "unavailable" || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: %v, %v", path, p, w.Header())
		}
	}
	b.dispatcher.loading = nil
	if w := b.call("GET", "/v1/queues/CERN", ""); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func (f *fakeDispatcher) Wanted(q dispatcher.WantedRequest) (out dispatcher.QueueWanted, err error) {
	switch q.Queue {
	case "CERN":
		out.Queue, out.Wanted, out.Keep, out.For = q.Queue, 12, 12, []explain.WantedFor{{Share: "A", Jobs: 96}}
		out.Terms = []wanted.PilotTerm{{What: "ready and coming jobs that fit its pilots", Pilots: 12}}
		if q.Seen != "" {
			out.Seen = []string{q.Seen + "1"}
		}
		return out, f.err
	case "BNL":
		return out, fmt.Errorf("%w: queue BNL", dispatcher.ErrNoProvision)
	}
	return out, dispatcher.ErrUnknownQueue
}

func TestWanted(t *testing.T) {
	b := newBench(t)
	w := b.call("GET", "/v1/queues/CERN/wanted?seen=p-", "")
	var out wire.QueueWanted
	if err := json.Unmarshal(w.Body.Bytes(), &out); w.Code != 200 || err != nil || out.Wanted != 12 || len(out.Terms) != 1 || out.Seen[0] != "p-1" || out.For[0].Jobs != 96 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if p := b.problem(b.call("GET", "/v1/queues/BNL/wanted", ""), 409); p.Code != "no_provision" {
		t.Error(p)
	}
	if p := b.problem(b.call("GET", "/v1/queues/nowhere/wanted", ""), 404); p.Code != "unknown_queue" {
		t.Error(p)
	}
}
