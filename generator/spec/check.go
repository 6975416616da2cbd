package spec

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/divvyhq/divvy/dispatcher/job"
)

// Limits of one task. They keep a slip of the keyboard from filling the disk, not people from working.
const (
	maxName      = 200        // letters of a name, a user or an attribute
	MaxPieces    = 10_000_000 // jobs of a task
	MaxInputs    = 50_000_000
	maxAxes      = 10
	maxInline    = 500_000 // inputs in a body, as the tag of Spec.Inputs says
	MaxInput     = 4096    // bytes of an input's name
	MaxPerJob    = 10_000
	maxEvents    = 1 << 50 // of an input or a task
	maxArguments = 1000
	maxPayload   = 128 << 10 // bytes of command and environment: what exec takes

	defaultAttempts = 3 // of a job
	MaxPriority     = 1_000_000_000
)

// MaxWalltime is the longest walltime that a task may ask for, in seconds.
const MaxWalltime = 366 * 24 * 3600

type checker struct{ faults Faults }

// full says that no more are told, so that nobody need look for them.
func (c *checker) full() bool { return len(c.faults) >= maxFaults }

func (c *checker) add(f Fault) {
	if !c.full() {
		c.faults = append(c.faults, f)
	}
}

// missing reports the absence of all of keys.
func (c *checker) missing(message, hint string, keys ...string) {
	c.add(Fault{Field: keys[0], Message: message, Hint: hint, absent: keys})
}

func (c *checker) addf(field, format string, args ...any) {
	c.add(Fault{Field: field, Message: fmt.Sprintf(format, args...)})
}

func (c *checker) hint(field, message, hint string) {
	c.add(Fault{Field: field, Message: message, Hint: hint})
}

// word is a text that people read in lists.
func word(text string) (wrong, hint string) {
	switch {
	case utf8.RuneCountInString(text) > maxName:
		return fmt.Sprintf(" has more than %d letters", maxName), ""
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return " has control characters", ""
	case strings.TrimSpace(text) != text:
		return " begins or ends with a space", ""
	}
	return "", ""
}

func share(path string) (wrong, hint string) {
	if len(path) > 1000 {
		return " has more than 1000 bytes", ""
	}
	return "", ""
}

// selector is an entry of queues: a name, a glob or a label, with ! in front where the task may not run.
func selector(q string) (wrong, hint string) {
	out := strings.TrimPrefix(q, "!")
	if out == "" {
		return " is empty", ""
	}
	if _, err := path.Match(out, ""); err != nil && !strings.Contains(q, "=") {
		return fmt.Sprintf(" %q is not a glob", out), "for instance gpu-*"
	}
	return word(q)
}

// Check says whether the task can be, in itself: no site is asked. The error is Faults with all that is wrong.
func (s *Spec) Check() error {
	c := checker{}
	c.tags(s)
	for _, f := range []struct{ field, text string }{{"name", s.Name}, {"user", s.User}} {
		if f.text == "" {
			c.missing("is missing", "", f.field)
		}
	}
	c.attempts(s)
	c.command(s)
	c.work(s)
	c.groups(s)
	c.needs(s)
	if s.Boost > 0 && s.Deadline == nil {
		c.hint("boost", "is for tasks with a deadline", "say deadline too")
	}
	return c.faults.Err()
}

func (c *checker) tags(x any) {
	decoder.Faults(x, func(field, wrong, hint string) bool {
		c.hint(field, wrong, hint)
		return !c.full()
	})
}

// attempts checks what is said of attempts that do not finish.
func (c *checker) attempts(s *Spec) {
	switch {
	case s.MaxBackoff > 0 && s.Backoff == 0:
		c.hint("max_backoff", "bounds a backoff that is not there", "say backoff too")
	case s.MaxBackoff > 0 && s.MaxBackoff < s.Backoff:
		c.addf("max_backoff", "is less than backoff")
	}
	if most := cmp.Or(s.MaxAttempts, defaultAttempts); s.MaxFailures > most {
		c.hint("max_failures", fmt.Sprintf("%d is more than max_attempts, %d", s.MaxFailures, most), "max_attempts counts lost attempts too")
	}
}

func (c *checker) command(s *Spec) {
	if len(s.Command) == 0 && !s.Grouped() { // else each role says what is missing
		c.missing("is missing", `a program and its arguments: ["sh", "-c", "echo piece {{.Index}}"]`, "command")
	}
	p := job.Payload{Command: s.Command, Env: s.Env, Matrix: s.Matrix, Image: s.Image, Paths: s.Paths}
	switch {
	case len(s.Command) > 0:
		c.payload("command", p, s.envSize())
	case s.Grouped() && (len(s.Env) > 0 || s.Image != "" || s.Paths != job.Paths{}): // each role's command is checked beside it
		p.Command = []string{"role"}
		c.payload("env", p, s.envSize())
	}
}

// envSize is what the environment takes, in bytes.
func (s *Spec) envSize() (size int) {
	for name, text := range s.Env {
		size += len(name) + len(text) + 2
	}
	return size
}

// payload checks what jobs run; field is where the command stands, env what their environment takes.
func (c *checker) payload(field string, p job.Payload, env int) {
	size := env
	for _, text := range p.Command {
		size += len(text) + 1
	}
	switch {
	case len(p.Command) > maxArguments:
		c.addf(field, "has more than %d elements", maxArguments)
		return
	case size > maxPayload:
		c.addf(field, "takes %d bytes with its environment, more than %d", size, maxPayload)
		return
	}
	err := p.Check()
	var fe *job.FieldError
	switch {
	case errors.As(err, &fe):
		at := strings.TrimSuffix(field, "command")
		if !strings.HasPrefix(fe.Field, "command") {
			at = "" // the task's
		}
		c.addf(at+fe.Field, "%v is not %s", fe.Value, fe.Want)
	case err != nil:
		c.addf(field, "%v", err)
	}
}

// splits are the fields that say how the work is split.
var splits = []string{"count", "inputs", "inputs_file", "inputs_streamed", "events", "matrix"}

// work checks that exactly one way of splitting is given, and that one.
func (c *checker) work(s *Spec) {
	is := []bool{s.Count != 0, len(s.Inputs) > 0, s.InputsFile != "", s.InputsStreamed, s.Events != nil, len(s.Matrix) > 0}
	var given []string
	for i, field := range splits {
		if is[i] {
			given = append(given, field)
		}
	}
	const hint = "exactly one of count, inputs, inputs_file, events, matrix says how the work is split"
	switch {
	case len(given) == 0 && s.Grouped() && !s.fed(), len(given) == 0 && s.fed() && !s.Grouped():
	case s.fed():
		c.hint("needs", fmt.Sprintf("has outputs, together with %s", append(given, "groups or roles")[0]), "the outputs are the inputs of this task")
	case s.Grouped():
		c.hint(given[0], "given together with groups or roles", "their replicas and counts say how many jobs the task has")
	case len(given) == 0:
		c.missing("nothing says how many jobs the task has", hint, slices.Concat(splits, []string{"groups", "roles"})...)
	case len(given) > 1:
		c.hint(given[1], fmt.Sprintf("given together with %s", given[0]), hint)
	default:
		c.split(s)
	}
	if takesInputs := is[1] || is[2] || is[3] || s.fed(); s.PerJob != 0 && !takesInputs {
		c.hint("per_job", "is for inputs only", "events have a per_job of their own")
	}
	c.splitting(s)
}

func (c *checker) split(s *Spec) {
	switch {
	case s.Events != nil:
		c.events(*s.Events)
	case len(s.Matrix) > 0:
		c.matrix(s.Matrix)
	case len(s.Inputs) > MaxInputs:
		c.addf("inputs", "has more than %d entries", MaxInputs)
	default:
		for i := range s.Inputs {
			if err := s.Inputs[i].check(); err != nil {
				c.addf(fmt.Sprintf("inputs[%d]", i), "%v", err)
				return // one is enough: there may be thousands
			}
		}
	}
}

func (c *checker) events(e Events) {
	if e.Total == 0 {
		c.addf("events.total", "is missing")
	}
	if e.Total > 0 && e.PerJob > 0 && Ceil(e.Total, e.PerJob) > MaxPieces {
		c.addf("events", "makes %d jobs, more than %d", Ceil(e.Total, e.PerJob), MaxPieces)
	}
}

var axisName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

const longestAxis = 64

func (c *checker) matrix(axes []job.Axis) {
	if len(axes) > maxAxes {
		c.addf("matrix", "has more than %d axes", maxAxes)
		return
	}
	pieces := int64(1)
	for i, a := range axes {
		field := "matrix." + a.Name
		switch {
		case len(a.Name) > longestAxis || !axisName.MatchString(a.Name):
			c.hint("matrix", fmt.Sprintf("%.60q is not the name of an axis", a.Name), "letters, digits and _")
		case job.Taken(a.Name):
			c.hint(field, "the name is taken by a placeholder", "choose another")
		case slices.ContainsFunc(axes[:i], func(b job.Axis) bool { return b.Name == a.Name }):
			c.addf(field, "is given twice")
		case len(a.Values) == 0:
			c.addf(field, "has no values")
		}
		if pieces *= int64(max(len(a.Values), 1)); pieces > MaxPieces {
			c.addf("matrix", "makes more than %d jobs", MaxPieces)
			return
		}
	}
}

// CheckInput refuses names that no command line, text column or list of lines could hold.
func CheckInput(name string) error {
	switch {
	case name == "":
		return errors.New("is empty")
	case len(name) > MaxInput:
		return fmt.Errorf("has more than %d bytes", MaxInput)
	case !utf8.ValidString(name):
		return errors.New("is not UTF-8")
	case strings.ContainsAny(name, "\x00\n\r"):
		return errors.New("has a line break or a zero byte")
	}
	return nil
}
