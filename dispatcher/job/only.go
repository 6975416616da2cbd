package job

import (
	"fmt"
	"slices"
	"strings"
)

// Only narrows a pull to some of the jobs; the zero Only does not. Shares decide among these as among all.
type Only struct {
	Labels []string `json:"labels,omitempty" maxItems:"100" maxLength:"200" doc:"Jobs of tasks with one of these labels; empty = any label." required:"false"`
	Task   int64    `json:"task,omitempty" minimum:"0" doc:"Jobs of this task; 0 = any." required:"false"`
	User   string   `json:"user,omitempty" maxLength:"200" doc:"Jobs of this user's tasks; empty = any." required:"false"`
}

// MostLabels bounds how many labels a pull may name.
const MostLabels = 100

// None says that the pull takes any job.
func (o *Only) None() bool { return len(o.Labels) == 0 && o.Task == 0 && o.User == "" }

// Check returns a FieldError about what cannot be.
func (o *Only) Check() error {
	switch {
	case len(o.Labels) > MostLabels:
		return &FieldError{"only.labels", fmt.Sprintf("%d labels", len(o.Labels)), fmt.Sprintf("at most %d", MostLabels)}
	case o.Task < 0:
		return &FieldError{"only.task", o.Task, "the id of a task, or 0 for any"}
	case WrongName(o.User):
		return BadName("only.user", o.User)
	}
	for i, label := range o.Labels {
		if WrongName(label) {
			return BadName(fmt.Sprintf("only.labels[%d]", i), label)
		}
	}
	return nil
}

// Tidy is the same in one way to write it: pulls that take the same jobs are of one class.
func (o Only) Tidy() Only {
	if o.Labels = slices.Compact(slices.Sorted(slices.Values(o.Labels))); len(o.Labels) == 0 {
		o.Labels = nil
	}
	return o
}

// Takes says whether tasks with that label are among those that the pull takes.
func (o *Only) Takes(label string) bool {
	return len(o.Labels) == 0 || slices.Contains(o.Labels, label)
}

// Words says what the pull takes.
func (o *Only) Words() string {
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
