package generator

import (
	"cmp"
	"context"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/shares"
)

// cannotRun says why no job of a task, or none of one of its roles, can run as the site is; "" when all can somewhere. share
// is the path of the share that pays, "" while it has none.
func cannotRun(s *spec.Spec, v shares.Version, share string) string {
	if !s.Grouped() {
		need := s.Shape()
		if s.Split != nil && s.Split.Fit { // its pieces are cut to what the queues allow
			need.WalltimeS, need.DiskMB = 0, 0
		}
		return job.Nowhere(v, need, share)
	}
	for _, m := range allMembers(s) {
		one := s.ForRole(m)
		if reason := job.Nowhere(v, one.Shape(), share); reason != "" {
			return "role " + m.Role + ": " + reason
		}
	}
	return ""
}

// allMembers are the roles of the task and of its groups.
func allMembers(s *spec.Spec) []spec.Member {
	all := slices.Clone(s.Roles)
	for _, g := range s.Groups {
		all = append(all, g.Members...)
	}
	return all
}

// stuck are the states in which it is worth saying that nothing can run.
var stuck = []string{"submitting", "waiting", "ready", "scouting", "running", "paused", "throttled", "exhausted"}

// sayCannotRun fills in CannotRun of tasks that have work to start and no job that a pilot has, by the site in force. Where that
// cannot be read nothing is said: the tasks can be shown without.
func (g *Generator) sayCannotRun(ctx context.Context, tasks []Task, specs []*spec.Spec) {
	var v *shares.Version
	for i := range tasks {
		t, s := &tasks[i], specs[i]
		over := t.Jobs.Finished + t.Jobs.Failed + t.Jobs.Cancelled
		if s == nil || !slices.Contains(stuck, t.State) || t.Jobs.Leased > 0 || t.Jobs.Total > 0 && over >= t.Jobs.Total {
			continue
		}
		if v == nil {
			st, err := g.cfg.Site(ctx)
			if err != nil {
				return
			}
			version := st.Version()
			v = &version
		}
		t.CannotRun = cannotRun(s, *v, cmp.Or(t.JobShare, t.Share))
	}
}
