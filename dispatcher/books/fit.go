package books

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// Fit is what a site makes of requirements: which slots may run such jobs.
type Fit struct {
	Need    job.Requirements
	Class   string // see job.Class
	ClassAt int    // in job.Classes
	Queues  []bool // that may run it, by position in the site's queues
	Remote  []bool // of them, those that it prefers not to; nil: it does not matter
	Power   map[*Pool]shares.Units
}

// FitOf is that of requirements at no site.
func FitOf(need job.Requirements) Fit {
	class := job.Class(need)
	return Fit{Need: need, Class: class, ClassAt: slices.Index(job.Classes, class)}
}

// Place finds the queues that may run such jobs, and at which of them these are remote.
func (t *Site) Place(o *Fit) {
	n := len(t.Version.Queues)
	o.Queues, o.Remote, o.Power = make([]bool, n), nil, map[*Pool]shares.Units{}
	if o.Need.Locality == job.LocalityPreferred {
		o.Remote = make([]bool, n)
	}
	for i, q := range t.Version.Queues {
		if o.Remote != nil {
			o.Remote[i] = !job.Local(o.Need.Locations, q)
		}
		if c := o.Need.Claims; !job.RunsAt(o.Need, q) || c != nil && (c.Missing || c.Queue != "" && c.Queue != q.Name) {
			continue
		}
		o.Queues[i] = true
		p := t.Queues[q.ID].Home
		o.Power[p] = max(o.Power[p], shares.Units(q.CorePowerMilli))
	}
}
