package spec

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Need says that a task waits for another one, or each of its pieces for those of the other.
type Need struct {
	Task    int64  `json:"task,omitempty" yaml:"-" required:"false" minimum:"1" doc:"Id of the task that is needed."`
	Name    string `json:"name,omitempty" yaml:"-" doc:"In a file of tasks: the name of another one there, in place of its id, which the client sends."`
	When    string `json:"when,omitempty" enum:"done,finished,any" doc:"What that task has to be: done (default), finished or done, or over in any way."`
	Per     string `json:"per,omitempty" enum:"task,input" doc:"task (default): wait until it is over. input: a piece waits for its part of that task only."`
	Outputs string `json:"outputs,omitempty" is:"word=outputs" doc:"A glob, such as *.root: outputs of its jobs with such names are the inputs of this task."`
}

// Ways of needing a task.
const (
	WhenDone     = "done"
	WhenFinished = "finished"
	WhenAny      = "any"
	perTask      = "task"
	PerInput     = "input"
)

// PerInput says whether pieces wait for pieces.
func (n *Need) PerInput() bool { return n.Per == PerInput }

// Follows says whether the ends of single jobs of the needed task count.
func (n *Need) Follows() bool { return n.PerInput() || n.Outputs != "" }

// fed says whether the task's inputs are outputs of tasks that it needs.
func (s *Spec) fed() bool {
	return slices.ContainsFunc(s.Needs, func(n Need) bool { return n.Outputs != "" })
}

// Piecewise says whether pieces of the task wait for pieces of others that they correspond to.
func (s *Spec) Piecewise() bool {
	return slices.ContainsFunc(s.Needs, func(n Need) bool { return n.PerInput() && n.Outputs == "" })
}

func (c *checker) needs(s *Spec) {
	for i := range s.Needs {
		n, field := &s.Needs[i], fmt.Sprintf("needs[%d]", i)
		c.need(field, n)
		if slices.ContainsFunc(s.Needs[:i], func(o Need) bool { return o.Task == n.Task && o.Name == n.Name }) {
			c.addf(field+".task", "is needed twice")
		}
	}
	switch {
	case s.fed() && s.Split != nil:
		c.hint("split", "given together with outputs of needs", "say how many of them a job gets by per_job")
	case s.fed() && s.Piecewise():
		c.hint("needs", "has both outputs and per: input without them", "its inputs are outputs, so say outputs everywhere, or per: task")
	case s.Piecewise() && s.Grouped():
		c.hint("needs", "has per: input, in a task of groups or roles", "their jobs belong together: say per: task")
	}
}

func (c *checker) need(field string, n *Need) {
	switch wrong, _ := word(n.Name); {
	case wrong != "":
		c.addf(field+".task", "%s", strings.TrimSpace(wrong))
	case n.Task < 0:
		c.addf(field+".task", "is negative: %d", n.Task)
	case n.Task == 0 && n.Name == "":
		c.hint(field+".task", "is missing", "the id of a task, or the name of another one in the same file")
	case n.Task > 0 && n.Name != "":
		c.addf(field+".name", "given together with task")
	}
}

func outputs(glob string) (wrong, hint string) {
	if _, err := path.Match(glob, ""); err != nil || len(glob) > maxName {
		return fmt.Sprintf(" %.40q is not a glob", glob), "for instance *.root"
	}
	return "", ""
}
