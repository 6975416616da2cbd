package dispatcher

import (
	"slices"
	"testing"

	"github.com/divvyhq/divvy/shares"
)

// Jobs of a task, page by page: live and ended ones, and those of a state.
func TestTaskJobs(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 8))
	d := f.daemon()
	ids := f.enqueue(batch{share: "A", n: 6, attempts: 1}) // task 1
	f.enqueue(batch{share: "A", n: 2})
	outcomes := []Outcome{Finished, Failed, ""}
	byState := map[string][]int64{}
	for _, outcome := range outcomes {
		l := pull1(t, d, "q")
		if outcome == "" {
			byState["leased"] = append(byState["leased"], l.Job)
			continue
		}
		byState[string(outcome)] = append(byState[string(outcome)], l.Job)
		if _, err := d.Finish(t.Context(), FinishRequest{Pilot: "p", Results: []Result{{Lease: l.Lease, Outcome: outcome}}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range ids {
		if !slices.Contains(slices.Concat(byState["finished"], byState["failed"], byState["leased"]), id) {
			byState["ready"] = append(byState["ready"], id)
		}
	}
	byState[""], byState["waiting"], byState["cancelled"] = ids, nil, nil
	for state, want := range byState {
		for _, limit := range []int{1, 2, 100} {
			var got []int64
			for after, n := int64(0), 0; n == 0 || after > 0; n++ {
				jobs, next, err := d.TaskJobs(t.Context(), JobFilter{Task: 1, State: state, After: after, Limit: limit})
				if err != nil || len(jobs) > limit || next > 0 && next <= after {
					t.Fatalf("%q by %d: %d jobs after %d, next %d, %v", state, limit, len(jobs), after, next, err)
				}
				for _, j := range jobs {
					if got = append(got, j.ID); state != "" && j.State != state {
						t.Errorf("%q: job %d is %s", state, j.ID, j.State)
					}
					if ran := j.State == "leased" || j.State == "finished" || j.State == "failed"; ran != (j.Queue == "q" && j.Pilot == "p") {
						t.Errorf("job %d, %s: queue %q pilot %q", j.ID, j.State, j.Queue, j.Pilot)
					}
				}
				after = next
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q by %d: %v, want %v", state, limit, got, want)
			}
		}
	}
	all, err := d.Jobs(t.Context(), JobFilter{})
	all = slices.DeleteFunc(all, func(j JobRow) bool { return j.Task != 1 })
	if err != nil || len(all) != len(ids) {
		t.Fatalf("%d jobs, %v", len(all), err)
	}
	same, _, err := d.TaskJobs(t.Context(), JobFilter{Task: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range same {
		if same[i].State != all[i].State || same[i].Queue != all[i].Queue || same[i].Attempt != all[i].Attempt {
			t.Errorf("%+v, in the list of all %+v", same[i], all[i])
		}
	}
}
