package job

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares/retry"
)

// Payload is what all jobs of a task run. Each element of Command, each value of Env, Image and each path is a template of
// {{.Index}} {{.Input}} {{.Inputs}} {{.FirstEvent}} {{.Events}} {{.Task}} {{.Job}} and, with a matrix, {{.<axis>}}; see Check.
type Payload struct {
	Task    int64               `json:"task_id"`
	Command []string            `json:"command"`
	Env     map[string]string   `json:"env"`
	Matrix  []Axis              `json:"matrix"`          // ordered; the last axis turns fastest
	Retry   *retry.Terms        `json:"retry,omitempty"` // for attempts that do not finish; nil: none but the attempts of each job
	Roles   map[string][]string `json:"roles,omitempty"` // commands of roles, in place of Command; a job's role is that of its first input, see RoleOf
	Image   string              `json:"image,omitempty"` // of the container that jobs run in; empty: in none
	Paths
}

// Axis is one dimension of a matrix.
type Axis struct {
	Name   string   `json:"name" is:"required"`
	Values []string `json:"values" is:"required empty"`
}

// Piece is a job's part of its task: what its command is filled with.
type Piece struct {
	Job        int64
	Index      int64
	Inputs     []string
	FirstEvent int64
	Events     int64
}

// Placeholders that every task may use; a matrix adds its axes. {{.Index+7}} is a number that begins with 7.
var placeholders = []string{"Events", "FirstEvent", "Index", "Input", "Inputs", "Job", "Task"}

// Taken says whether an axis of this name would hide a placeholder.
func Taken(name string) bool { return slices.Contains(placeholders, name) }

// Check says whether the payload can be filled for every job: a *FieldError names the element otherwise.
// Only {{.Name}} is understood, on purpose, and {{{{ for {{: text that comes from inputs is never read as a template.
func (p Payload) Check() error {
	if len(p.Command) == 0 || p.Command[0] == "" {
		return &FieldError{Field: "command", Value: p.Command, Want: "a program and its arguments"}
	}
	for i, text := range p.Command {
		if err := p.check(fmt.Sprintf("command[%d]", i), text); err != nil {
			return err
		}
	}
	for role, command := range p.Roles {
		if len(command) == 0 || command[0] == "" {
			return &FieldError{Field: "command of " + role, Value: command, Want: "a program and its arguments"}
		}
		for i, text := range command {
			if err := p.check(fmt.Sprintf("command[%d] of %s", i, role), text); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		if name == "" || strings.Contains(name, "=") || strings.ContainsFunc(name, unicode.IsControl) {
			if before, _, ok := strings.Cut(name, "="); ok { // behind it is a value
				name = before + "=…"
			}
			return &FieldError{Field: "env", Value: fmt.Sprintf("%.100q", name), Want: "the name of a variable: text without = and control characters"}
		}
		if err := p.check("env."+name, p.Env[name]); err != nil {
			return err
		}
	}
	if err := p.checkImage(); err != nil {
		return err
	}
	return p.checkPaths()
}

// check repeats no more of a text than what is wrong: the rest may be a secret.
func (p Payload) check(field, text string) error {
	if strings.ContainsRune(text, 0) {
		return &FieldError{Field: field, Value: strconv.Quote("\x00"), Want: "text without zero bytes"}
	}
	wrong := ""
	t, err := cut(text)
	if err != nil {
		wrong = "{{"
	}
	for i := 1; i < len(t) && wrong == ""; i += 2 {
		if _, numbered := indexPlus(t[i]); !numbered && !slices.Contains(placeholders, t[i]) && p.axis(t[i]) < 0 {
			wrong = "{{." + t[i] + "}}"
		}
	}
	if wrong != "" {
		names := slices.Clone(placeholders)
		for _, a := range p.Matrix {
			names = append(names, a.Name)
		}
		return &FieldError{Field: field, Value: strconv.Quote(wrong), Want: "text with placeholders among {{." + strings.Join(names, "}} {{.") + "}}; {{{{ stands for {{"}
	}
	return nil
}

func (p Payload) axis(name string) int {
	return slices.IndexFunc(p.Matrix, func(a Axis) bool { return a.Name == name })
}

// template is a text cut at its placeholders: text, name, text, name, …, text.
type template []string

// Literal is the text that jobs get as it is: {{{{ stands for {{.
func Literal(text string) string { return strings.ReplaceAll(text, "{{", "{{{{") }

// Renamed is a text with other placeholders, by their names without the dot; one that is no template stays as it is.
func Renamed(text string, as func(name string) string) string {
	t, err := cut(text)
	if err != nil {
		return text
	}
	var b strings.Builder
	for i, part := range t {
		if i%2 == 0 {
			b.WriteString(Literal(part))
		} else {
			b.WriteString("{{." + as(part) + "}}")
		}
	}
	return b.String()
}

// IndexPlus is the number that the placeholder Index, or one such as Index+7, adds to the index.
func IndexPlus(name string) (n int64, ok bool) {
	if name == "Index" {
		return 0, true
	}
	return indexPlus(name)
}

func cut(text string) (t template, err error) {
	var before strings.Builder
	for {
		plain, rest, more := strings.Cut(text, "{{")
		before.WriteString(plain)
		switch {
		case !more:
			return append(t, before.String()), nil
		case strings.HasPrefix(rest, "{{"):
			before.WriteString("{{")
			text = rest[2:]
			continue
		case strings.HasPrefix(rest, "{"): // a brace, and then a placeholder
			before.WriteString("{")
			text = "{" + rest
			continue
		}
		inner, after, closed := strings.Cut(rest, "}}")
		name, dotted := strings.CutPrefix(strings.TrimSpace(inner), ".")
		if !closed || !dotted {
			return nil, fmt.Errorf("no placeholder: {{%s", inner)
		}
		t = append(t, before.String(), name)
		before.Reset()
		text = after
	}
}

// Recipe is a payload whose texts are cut: what is kept of it between leases. Make one with NewRecipe.
type Recipe struct {
	Payload
	command  []template
	env      map[string]template
	image    template
	paths    [3]template
	constant bool // no placeholder anywhere
	roles    map[string]*Recipe
}

// NewRecipe cuts the texts of a payload that Check has passed.
func NewRecipe(p Payload) *Recipe {
	if p.Env == nil {
		p.Env = map[string]string{}
	}
	r := &Recipe{Payload: p, env: make(map[string]template, len(p.Env)), constant: true}
	read := func(text string) template {
		t, _ := cut(text) // Check passed at submission
		r.constant = r.constant && len(t) == 1 && t[0] == text
		return t
	}
	for _, text := range p.Command {
		r.command = append(r.command, read(text))
	}
	for name, text := range p.Env {
		r.env[name] = read(text)
	}
	r.image = read(p.Image)
	for i, f := range p.each() {
		r.paths[i] = read(*f.text)
	}
	for role, command := range p.Roles {
		if r.roles == nil {
			r.roles = make(map[string]*Recipe, len(p.Roles))
		}
		own := p
		own.Command, own.Roles = command, nil
		r.roles[role] = NewRecipe(own)
	}
	return r
}

// Filled is what one job runs.
type Filled struct {
	Command []string
	Env     map[string]string
	Image   string
	Paths
}

// Render fills the payload for one job. An argument that is exactly {{.Inputs}} becomes one argument an input. What
// is the same for all jobs is shared between their leases.
func (r *Recipe) Render(j Piece) Filled {
	if len(r.roles) > 0 && len(j.Inputs) > 0 {
		if own := r.roles[RoleOf(j.Inputs[0])]; own != nil {
			return own.Render(j)
		}
	}
	filled := Filled{Command: r.Command, Env: r.Env, Image: r.Image, Paths: r.Paths}
	if r.constant && len(j.Inputs) == 0 {
		return filled
	}
	filled.Command = make([]string, 0, len(r.command)+len(j.Inputs))
	for i, t := range r.command {
		if r.Command[i] == "{{.Inputs}}" {
			filled.Command = append(filled.Command, j.Inputs...)
			continue
		}
		filled.Command = append(filled.Command, r.fill(t, j))
	}
	filled.Image = r.fill(r.image, j)
	for i, f := range filled.each() {
		*f.text = r.fill(r.paths[i], j)
	}
	if len(r.env) == 0 && len(j.Inputs) == 0 {
		return filled
	}
	filled.Env = make(map[string]string, len(r.env)+1)
	for name, t := range r.env {
		filled.Env[name] = r.fill(t, j)
	}
	if len(j.Inputs) > 0 {
		filled.Env["DIVVY_INPUTS"] = strings.Join(j.Inputs, "\n")
	}
	return filled
}

// RoleOf is the role of a job by its name: sgx/pca of 0/sgx/1/pca/2, metrics of 0/metrics/1.
func RoleOf(job string) string {
	k, err := resource.ParseJobKey(job)
	switch {
	case err != nil:
		return ""
	case k.Group == "":
		return k.Role
	}
	return k.Group + "/" + k.Role
}

// fill puts values in as they are, they are never read again.
func (r *Recipe) fill(t template, j Piece) string {
	switch len(t) {
	case 0:
		return ""
	case 1:
		return t[0]
	case 3:
		return t[0] + r.value(t[1], j) + t[2]
	}
	var out strings.Builder
	for i, part := range t {
		if i%2 == 1 {
			part = r.value(part, j)
		}
		out.WriteString(part)
	}
	return out.String()
}

func (p Payload) value(name string, j Piece) string {
	switch name {
	case "Index":
		return strconv.FormatInt(j.Index, 10)
	case "Input", "Inputs":
		return strings.Join(j.Inputs, " ")
	case "FirstEvent":
		return strconv.FormatInt(j.FirstEvent, 10)
	case "Events":
		return strconv.FormatInt(j.Events, 10)
	case "Job":
		return strconv.FormatInt(j.Job, 10)
	case "Task":
		return strconv.FormatInt(p.Task, 10)
	}
	if n, ok := indexPlus(name); ok {
		return strconv.FormatInt(j.Index+n, 10)
	}
	return p.matrixValue(name, j.Index)
}

// indexPlus is what a placeholder such as Index+7 adds to the index.
func indexPlus(name string) (n int64, ok bool) {
	digits, ok := strings.CutPrefix(name, "Index+")
	if !ok {
		return 0, false
	}
	u, err := strconv.ParseUint(digits, 10, 60)
	return int64(u), err == nil
}

// matrixValue reads index as a number whose digits are the axes, the last one turning fastest.
func (p Payload) matrixValue(name string, index int64) string {
	for i := len(p.Matrix) - 1; i >= 0; i-- {
		values := p.Matrix[i].Values
		n := int64(len(values))
		if p.Matrix[i].Name == name {
			return values[index%n]
		}
		index /= n
	}
	return ""
}
