package dispatcher

import (
	"fmt"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/dispatcher/job"
)

// narrowOf is the part of it that is not served from the common windows; zero: there is none.
func narrowOf(o job.Only) narrowKey { return narrowKey{o.Task, o.User} }

// outlinesAmong lists those that a pull takes.
func outlinesAmong(o job.Only, all []*outline) []*outline {
	if len(o.Labels) == 0 {
		return all
	}
	var some []*outline
	for _, sh := range all {
		if o.Takes(sh.need.Label) {
			some = append(some, sh)
		}
	}
	return some
}

// passedOver says what the pilots of the queue take instead of a job; empty when one of them takes it, or none has pulled.
func (q *queue) passedOver(j *subject, sh *shape) string {
	var instead []string
	for _, pilot := range q.pilots {
		o := pilot.only
		if o == nil || o.Takes(sh.need.Label) && (o.Task == 0 || o.Task == j.TaskID) && (o.User == "" || o.User == j.UserName) {
			return ""
		}
		if words := o.Words(); !slices.Contains(instead, words) && len(instead) < 5 {
			instead = append(instead, words)
		}
	}
	slices.Sort(instead)
	switch list := strings.Join(instead, ", or "); len(q.pilots) {
	case 0:
		return ""
	case 1:
		return "the pilot takes " + list
	default:
		return fmt.Sprintf("the %d pilots that pulled here in the last five minutes take %s", len(q.pilots), list)
	}
}
