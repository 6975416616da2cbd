package panda

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
)

func TestStatistics(t *testing.T) {
	w := newWorld(t)
	c := w.caller()
	c.check([]answered{
		{get, "/statistics/active_job_stats_by_site", nil, `{"success":true,"message":"","data":{"LOCAL_TEST":{"activated":0,"assigned":0,"running":0},"OTHER":{"activated":0,"assigned":0,"running":0}}}`},
		{get, "/statistics/job_stats_by_cloud", map[string]any{"type": "production"}, `{"success":true,"message":"","data":{}}`},
	})
	w.submit(6, 1, "true")
	_, err := w.generator.Submissions().Submit(t.Context(), generator.SubmitRequest{Spec: spec.Spec{Name: "ana", User: "bob", Kind: spec.Kind{Label: "user"}, Share: "User", Count: 2,
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
		want := []view.Work{{Share: "Prod", Label: "managed", ProcessingType: "simul", Ready: 3, Leased: 1, Ended: 2}, {Share: "User", Label: "user", Ready: 2}}
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
