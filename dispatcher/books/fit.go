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

// Place finds the queues that may run such jobs.
func (t *Site) Place(o *Fit) {
	o.Queues, o.Power = make([]bool, len(t.Version.Queues)), map[*Pool]shares.Units{}
	o.Remote = prefersElsewhere(o.Need, t.Version.Queues)
	for i, q := range t.Version.Queues {
		if c := o.Need.Claims; !job.RunsAt(o.Need, q) || c != nil && (c.Missing || c.Queue != "" && c.Queue != q.Name) {
			continue
		}
		o.Queues[i] = true
		p := t.Queues[q.ID].Home
		o.Power[p] = max(o.Power[p], shares.Units(q.CorePowerMilli))
	}
}

// prefersElsewhere says at which queues jobs are remote, by position; nil: at none.
func prefersElsewhere(need job.Requirements, queues []shares.Queue) (remote []bool) {
	if need.Locality != job.LocalityPreferred {
		return nil
	}
	remote = make([]bool, len(queues))
	for i, q := range queues {
		remote[i] = !job.Local(need.Locations, q)
	}
	return remote
}
