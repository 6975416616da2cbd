package dispatcher

import (
	"fmt"
	"slices"
)

// mostLabels bounds what a pull may name.
const mostLabels = 100

// none says that the pull takes any job.
func (o *Only) none() bool { return len(o.Labels) == 0 && o.Task == 0 && o.User == "" }

func (o *Only) check() error {
	switch {
	case len(o.Labels) > mostLabels:
		return &FieldError{"only.labels", fmt.Sprintf("%d labels", len(o.Labels)), fmt.Sprintf("at most %d", mostLabels)}
	case o.Task != 0 || o.User != "":
		return &FieldError{"only", fmt.Sprintf("%+v", *o), "labels alone: task and user are not served yet"}
	case o.Task < 0:
		return &FieldError{"only.task", o.Task, "the id of a task, or 0 for any"}
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

// takes says whether tasks with that label are among those that the pull takes.
func (o *Only) takes(label string) bool { return len(o.Labels) == 0 || slices.Contains(o.Labels, label) }

// among lists those of the shapes that the pull takes.
func (o *Only) among(all []*shape) []*shape {
	if len(o.Labels) == 0 {
		return all
	}
	var some []*shape
	for _, sh := range all {
		if o.takes(sh.need.Label) {
			some = append(some, sh)
		}
	}
	return some
}
