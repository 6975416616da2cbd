package view

import (
	"cmp"
	"context"
	"slices"

	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/shares"
)

// stuck are the states in which it is worth saying that nothing can run.
var stuck = []string{"submitting", "waiting", "ready", "scouting", "running", "paused", "throttled", "exhausted"}

// sayCannotRun fills in CannotRun of tasks that have work to start and no job that a pilot has, by the site in force. Where that
// cannot be read nothing is said: the tasks can be shown without.
func (rd *Reader) sayCannotRun(ctx context.Context, tasks []Task, specs []*spec.Spec) {
	var v *shares.Version
	for i := range tasks {
		t, s := &tasks[i], specs[i]
		over := t.Jobs.Finished + t.Jobs.Failed + t.Jobs.Cancelled
		if s == nil || !slices.Contains(stuck, t.State) || t.Jobs.Leased > 0 || t.Jobs.Total > 0 && over >= t.Jobs.Total {
			continue
		}
		if v == nil {
			st, err := rd.site(ctx)
			if err != nil {
				return
			}
			version := st.Version()
			v = &version
		}
		t.CannotRun = s.Nowhere(*v, cmp.Or(t.JobShare, t.Share))
	}
}
