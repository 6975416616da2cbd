package dispatcher

import (
	"fmt"
	"slices"
	"strings"
)

// mostLabels bounds how many labels a pull may name.
const mostLabels = 100

// none says that the pull takes any job.
func (o *Only) none() bool { return len(o.Labels) == 0 && o.Task == 0 && o.User == "" }

func (o *Only) check() error {
	switch {
	case len(o.Labels) > mostLabels:
		return &FieldError{"only.labels", fmt.Sprintf("%d labels", len(o.Labels)), fmt.Sprintf("at most %d", mostLabels)}
	case o.Task < 0:
		return &FieldError{"only.task", o.Task, "the id of a task, or 0 for any"}
	case wrongName(o.User):
		return badName("only.user", o.User)
	}
	for i, label := range o.Labels {
		if wrongName(label) {
			return badName(fmt.Sprintf("only.labels[%d]", i), label)
		}
	}
	return nil
}

// tidy is the same in one way to write it: pulls that take the same jobs are of one class.
func (o Only) tidy() Only {
	if o.Labels = slices.Compact(slices.Sorted(slices.Values(o.Labels))); len(o.Labels) == 0 {
		o.Labels = nil
	}
	return o
}

// narrow is the part that is not served from the common windows; zero: there is none.
func (o *Only) narrow() narrowKey { return narrowKey{o.Task, o.User} }

// takes says whether tasks with that label are among those that the pull takes.
func (o *Only) takes(label string) bool {
	return len(o.Labels) == 0 || slices.Contains(o.Labels, label)
}

// among lists those that the pull takes.
func (o *Only) among(all []*outline) []*outline {
	if len(o.Labels) == 0 {
		return all
	}
	var some []*outline
	for _, sh := range all {
		if o.takes(sh.need.Label) {
			some = append(some, sh)
		}
	}
	return some
}

// words says what the pull takes.
func (o *Only) words() string {
	var parts []string
	if len(o.Labels) > 0 {
		parts = append(parts, "of label "+strings.Join(o.Labels, " or "))
	}
	if o.Task != 0 {
		parts = append(parts, fmt.Sprintf("of task %d", o.Task))
	}
	if o.User != "" {
		parts = append(parts, "of user "+o.User)
	}
	return "jobs " + strings.Join(parts, " and ") + " only"
}

// passedOver says what the pilots of the queue take instead of a job; empty when one of them takes it, or none has pulled.
func (q *queue) passedOver(j *subject, sh *shape) string {
	var instead []string
	for _, pilot := range q.pilots {
		o := pilot.only
		if o == nil || o.takes(sh.need.Label) && (o.Task == 0 || o.Task == j.TaskID) && (o.User == "" || o.User == j.UserName) {
			return ""
		}
		if words := o.words(); !slices.Contains(instead, words) && len(instead) < 5 {
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
