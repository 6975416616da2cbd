package panda

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/spec"
)

func TestStatistics(t *testing.T) {
	w := newWorld(t)
	c := w.caller()
	c.check([]answered{
		{get, "/statistics/active_job_stats_by_site", nil, `{"success":true,"message":"","data":{"LOCAL_TEST":{"activated":0,"assigned":0,"running":0},"OTHER":{"activated":0,"assigned":0,"running":0}}}`},
		{get, "/statistics/job_stats_by_cloud", map[string]any{"type": "production"}, `{"success":true,"message":"","data":{}}`},
	})
	w.submit(6, 1, "true")
	_, err := w.generator.Submit(t.Context(), generator.SubmitRequest{Spec: spec.Spec{Name: "ana", User: "bob", Kind: spec.Kind{Label: "user"}, Share: "User", Count: 2,
		Command: []string{"true"}, Queues: []string{"LOCAL_TEST"}, Requirements: spec.Requirements{Cores: 8}}})
	if err != nil {
		t.Fatal(err)
	}
	w.until("all jobs are ready", func() bool {
		n := int64(0)
		for _, count := range w.dispatcher.Counts() {
			n += count.N
		}
		return n == 8
	})
	reply, err := w.dispatcher.Pull(t.Context(), dispatcher.PullRequest{Queue: "OTHER", Pilot: "p", Slot: job.Slot{Cores: 3}, Max: 3, WaitS: 5})
	if err != nil || len(reply.Leases) != 3 {
		t.Fatal(err, reply)
	}
	results := []dispatcher.Result{{Lease: reply.Leases[0].Lease, Outcome: dispatcher.Finished}, {Lease: reply.Leases[1].Lease, Outcome: dispatcher.Failed}}
	if _, err := w.dispatcher.Finish(t.Context(), dispatcher.FinishRequest{Pilot: "p", Results: results}); err != nil {
		t.Fatal(err)
	}
	w.until("the ends are counted", func() bool {
		w.dispatcher.Settle()
		ended, err := w.dispatcher.Ended(context.Background(), time.Hour)
		return err == nil && len(ended) == 2
	})
	w.until("the task counts them too", func() bool {
		work, err := w.known.Work(context.Background())
		want := []generator.Work{{Share: "Prod", Label: "managed", ProcessingType: "simul", Ready: 3, Leased: 1, Ended: 2}, {Share: "User", Label: "user", Ready: 2}}
		return err == nil && cmp.Equal(want, work)
	})
	c.check([]answered{
		{get, "/statistics/active_job_stats_by_site", nil, `{"success":true,"message":"","data":{"LOCAL_TEST":{"activated":5,"assigned":0,"running":0},"OTHER":{"activated":3,"assigned":0,"running":1}}}`},
		{get, "/statistics/active_job_detailed_stats_by_site", nil, `{"success":true,"message":"","data":{"LOCAL_TEST":{"MCORE":{"user":{"activated":2,"assigned":0,"running":0}},` +
			`"SCORE":{"managed":{"activated":3,"assigned":0,"running":0}}},"OTHER":{"SCORE":{"managed":{"activated":3,"assigned":0,"running":1}}}}}`},
		{get, "/statistics/job_stats_by_cloud", nil, `{"success":true,"message":"","data":{"default":{"activated":3,"failed":1,"finished":1,"running":1}}}`},
		{get, "/statistics/job_stats_by_cloud", map[string]any{"type": "analysis"}, `{"success":true,"message":"","data":{"default":{"activated":2}}}`},
		{get, "/statistics/job_stats_by_cloud", map[string]any{"type": "other"}, `{"success":false,"message":"Parameter \"type\" needs to be either \"production\" or \"analysis\" ","data":{}}`},
		{get, "/statistics/production_job_stats_by_cloud_and_processing_type", nil, `{"success":true,"message":"","data":{"default":{"simul":{"activated":3,"failed":1,"finished":1,"running":1}}}}`},
		{get, "/statistics/job_stats_by_site_and_resource_type", map[string]any{"time_window": 720}, `{"success":true,"message":"","data":{` +
			`"LOCAL_TEST":{"MCORE":{"activated":2,"assigned":0,"failed":0,"finished":0,"running":0},"SCORE":{"activated":3,"assigned":0,"failed":0,"finished":0,"running":0}},` +
			`"OTHER":{"SCORE":{"activated":3,"assigned":0,"failed":1,"finished":1,"running":1}}}}`},
		{get, "/statistics/job_stats_by_site_share_and_resource_type", map[string]any{"time_window": 720}, `{"success":true,"message":"","data":{` +
			`"LOCAL_TEST":{"Prod":{"SCORE":{"activated":3,"assigned":0,"failed":0,"finished":0,"running":0}},"User":{"MCORE":{"activated":2,"assigned":0,"failed":0,"finished":0,"running":0}}},` +
			`"OTHER":{"Prod":{"SCORE":{"activated":3,"assigned":0,"failed":1,"finished":1,"running":1}}}}}`},
		{get, "/statistics/job_stats_by_site_and_resource_type", map[string]any{"time_window": 10081},
			`{"success":false,"message":"Parameter \"time_window\" needs to be a positive integer smaller than 10080 min (7 days)","data":{}}`},
		{get, "/statistics/job_stats_by_site_and_resource_type", map[string]any{"time_window": "x"}, `{"success":false,"message":"Type error: 'time_window' must be of type int, got str.","data":null}`},
	})
}

// Counts are split to the last job, in proportion.
func TestSplit(t *testing.T) {
	work := []generator.Work{{Share: "A", ProcessingType: "x", Ready: 1}, {Share: "A", ProcessingType: "y", Ready: 2}, {Share: "B", ProcessingType: "z", Ready: 5}, {Share: "A", ProcessingType: "none"}}
	got := split(dispatcher.Count{Share: "A", State: "ready", N: 10}, work)
	if diff := cmp.Diff(map[string]int64{"x": 3, "y": 7}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := split(dispatcher.Count{Share: "C", State: "leased", N: 4}, work); !cmp.Equal(got, map[string]int64{"unknown": 4}) {
		t.Errorf("of nobody's: %v", got)
	}
}

// The table written as it goes is the one that a tree of maps makes.
func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		queues := rapid.SampledFrom([][]string{{"A"}, {"B"}, {"A", "B"}, {"C", "\"\xff"}, nil})
		counts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) dispatcher.Count {
			return dispatcher.Count{Share: rapid.SampledFrom([]string{"P", "P/x", "Q"}).Draw(t, "share"), Class: rapid.SampledFrom(job.Classes).Draw(t, "class"),
				State:  rapid.SampledFrom([]string{"waiting", "ready", "leased", "finished", "failed", "cancelled"}).Draw(t, "state"),
				Queues: queues.Draw(t, "queues"), N: rapid.Int64Range(1, 9).Draw(t, "n")}
		}), 0, 12).Draw(t, "counts")
		share := rapid.Bool().Draw(t, "share")
		want := wire.Tally{}
		for _, c := range counts {
			for _, queue := range c.Queues {
				at := want.At(queue)
				if share {
					at = at.At(c.Share)
				}
				at.At(c.Class).Add(c.N, countState(c))
				at.At(c.Class).Fill(namedStates...)
			}
		}
		text, err := json.Marshal(want)
		if got := string(table(counts, share)); err != nil || got != string(text) {
			t.Fatalf("%v: got %s, want %s", err, got, text)
		}
	})
}

// Shares are summed up where they are not told apart, and only what is at the same queues.
func TestTogether(t *testing.T) {
	both, one := []string{"A", "B"}, []string{"A"}
	got := together([]dispatcher.Count{{Share: "P", Queues: both, State: "ready", N: 1}, {Share: "Q", Queues: both, State: "ready", N: 2}, {Share: "Q", Queues: both, State: "leased", N: 4},
		{Share: "P", Queues: one, State: "ready", N: 8}, {Share: "P", State: "ready", N: 16}, {Share: "P", Queues: both, State: "ready", Label: "user", N: 32}})
	want := []dispatcher.Count{{Share: "P", Queues: both, State: "ready", N: 3}, {Share: "Q", Queues: both, State: "leased", N: 4}, {Share: "P", Queues: one, State: "ready", N: 8},
		{Share: "P", Queues: both, State: "ready", Label: "user", N: 32}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
