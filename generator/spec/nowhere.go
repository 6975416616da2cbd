package spec

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// Nowhere says why no job of a task, or none of one of its roles, can run as the site is; "" when all can somewhere. share
// is the path of the share that pays, "" while it has none.
func (s *Spec) Nowhere(v shares.Version, share string) string {
	if !s.Grouped() {
		need := s.Shape()
		if s.Split != nil && s.Split.Fit { // its pieces are cut to what the queues allow
			need.WalltimeS, need.DiskMB = 0, 0
		}
		return job.Nowhere(v, need, share)
	}
	all := slices.Clone(s.Roles)
	for _, g := range s.Groups {
		all = append(all, g.Members...)
	}
	for _, m := range all {
		one := s.ForRole(m)
		if reason := job.Nowhere(v, one.Shape(), share); reason != "" {
			return "role " + m.Role + ": " + reason
		}
	}
	return ""
}
