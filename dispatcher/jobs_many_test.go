package dispatcher

import (
	"context"
	"slices"
	"testing"

	"github.com/divvyhq/divvy/shares"
)

// Many jobs are found, described and killed by few statements, in whatever state they are.
func TestManyJobs(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 5))
	d := f.daemon()
	ctx := context.Background()
	ids := f.enqueue(batch{share: "A", n: 5, attempts: 1})
	other := f.enqueue(batch{share: "A", n: 1})
	done, failed, runs := pull1(t, d, "q"), pull1(t, d, "q"), pull1(t, d, "q")
	result := Result{Lease: done.Lease, Outcome: Finished, Usage: Usage{CPUSeconds: 3}, Outputs: map[string]any{"o": 1},
		Report: map[string]any{"jobMetrics": "n=1", "metaData": map[string]any{"files": 2}}}
	if _, err := d.Finish(ctx, FinishRequest{Pilot: "p", Results: []Result{result}}); err != nil {
		t.Fatal(err)
	}
	finish(t, d, Failed, failed)

	jobs, err := d.JobsByID(ctx, append([]int64{999, other[0]}, ids...))
	if err != nil || len(jobs) != 6 {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	for i, want := range []string{"finished", "failed", "leased", "ready", "ready", "ready"} {
		j := jobs[i]
		if j.State != want || (len(j.Attempts) == 1) != (i < 3) || (j.Queue == "q") != (i < 3) || j.Share != "A" {
			t.Errorf("job %d: %+v, want it %s", i, j, want)
		}
		one, err := d.Job(ctx, j.ID)
		if err != nil || one.State != j.State || one.Queue != j.Queue || len(one.Attempts) != len(j.Attempts) {
			t.Errorf("job %d: %+v, %v", i, one, err)
		}
	}
	at := jobs[0].Attempts[0]
	if at.Report["jobMetrics"] != "n=1" || at.Report["metaData"] != nil || at.Usage.CPUSeconds != 3 || at.Outputs["o"] != 1.0 || at.EndedAt == nil {
		t.Errorf("%+v", at)
	}
	if jobs, err := d.JobsByID(ctx, nil); err != nil || len(jobs) != 0 {
		t.Errorf("%v, %v", jobs, err)
	}
	task := done.Task
	for _, c := range []struct {
		what string
		c    JobChoice
		want []int64
	}{
		{"all", JobChoice{Task: task, Live: true, Ended: []string{"finished", "failed", "cancelled"}, Limit: 10}, ids},
		{"two", JobChoice{Task: task, Live: true, Ended: []string{"finished", "failed"}, Limit: 2}, ids[:2]},
		{"live", JobChoice{Task: task, Live: true, Limit: 10}, ids[2:]},
		{"failed", JobChoice{Task: task, Ended: []string{"failed", "cancelled"}, Limit: 10}, ids[1:2]},
		{"of no task", JobChoice{Task: 999, Live: true, Limit: 10}, nil},
	} {
		if got, err := d.JobIDs(ctx, c.c); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", c.what, got, err, c.want)
		}
	}
	meta, err := d.Metadata(ctx, task, 0, 10)
	if err != nil || len(meta) != 1 || meta[0].ID != done.Job || string(meta[0].Metadata) != `{"files": 2}` {
		t.Errorf("%+v, %v", meta, err)
	}
	if meta, err := d.Metadata(ctx, task, done.Job, 10); err != nil || len(meta) != 0 {
		t.Errorf("%+v, %v", meta, err)
	}

	killed, err := d.KillJobs(ctx, []int64{ids[4], 999, runs.Job, done.Job, ids[4], failed.Job})
	if want := []int64{runs.Job, ids[4]}; err != nil || !slices.Equal(killed, want) {
		t.Errorf("killed %v, %v; want %v", killed, err, want)
	}
	reply, err := d.Renew(ctx, RenewRequest{Pilot: "p", Leases: []Renewal{{Lease: runs.Lease}}})
	if err != nil || len(reply.Cancel) != 1 {
		t.Errorf("%+v, %v; want the pilot to hear of it", reply, err)
	}
	left, err := d.JobIDs(ctx, JobChoice{Task: task, Live: true, Limit: 10})
	if want := []int64{runs.Job, ids[3]}; err != nil || !slices.Equal(left, want) {
		t.Errorf("left %v, %v; want %v", left, err, want)
	}
	f.recount()
}
