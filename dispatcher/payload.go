package dispatcher

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// piece is a job's part of its task: what its command is filled with.
type piece struct {
	Index      int64
	Inputs     []string
	FirstEvent int64
	Events     int64
}

// Placeholders that every task may use; a matrix adds its axes.
var placeholders = []string{"Events", "FirstEvent", "Index", "Input", "Inputs"}

// Check says whether the payload can be filled for every job: a *FieldError names the element otherwise.
// Only {{.Name}} is understood, on purpose: text that comes from inputs is never read as a template.
func (p Payload) Check() error {
	if len(p.Command) == 0 || p.Command[0] == "" {
		return &FieldError{Field: "command", Value: p.Command, Want: "a program and its arguments"}
	}
	for i, text := range p.Command {
		if err := p.check(fmt.Sprintf("command[%d]", i), text); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return &FieldError{Field: "env", Value: name, Want: "the name of a variable"}
		}
		if err := p.check("env."+name, p.Env[name]); err != nil {
			return err
		}
	}
	return nil
}

func (p Payload) check(field, text string) error {
	if strings.ContainsRune(text, 0) {
		return &FieldError{Field: field, Value: strconv.Quote(text), Want: "text without zero bytes"}
	}
	_, err := fill(text, func(name string) (string, bool) {
		return "", slices.Contains(placeholders, name) || p.axis(name) >= 0
	})
	if err != nil {
		names := slices.Clone(placeholders)
		for _, a := range p.Matrix {
			names = append(names, a.Name)
		}
		return &FieldError{Field: field, Value: strconv.Quote(text), Want: "text with placeholders among {{." + strings.Join(names, "}} {{.") + "}}"}
	}
	return nil
}

func (p Payload) axis(name string) int {
	return slices.IndexFunc(p.Matrix, func(a Axis) bool { return a.Name == name })
}

// fill replaces every {{.Name}} of text by what value says; values are put in as they are, never read again.
func fill(text string, value func(name string) (string, bool)) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "{{")
		out.WriteString(before)
		if !ok {
			return out.String(), nil
		}
		inner, after, ok := strings.Cut(rest, "}}")
		if !ok {
			return "", fmt.Errorf("{{ without }}")
		}
		name, dotted := strings.CutPrefix(strings.TrimSpace(inner), ".")
		v, known := value(name)
		if !dotted || !known {
			return "", fmt.Errorf("unknown placeholder {{%s}}", inner)
		}
		out.WriteString(v)
		text = after
	}
}

// render fills the payload for one job. An argument that is exactly {{.Inputs}} becomes one argument an input.
func (p Payload) render(j piece) (command []string, env map[string]string) {
	value := func(name string) (string, bool) { return p.value(name, j), true }
	for _, text := range p.Command {
		if text == "{{.Inputs}}" {
			command = append(command, j.Inputs...)
			continue
		}
		filled, _ := fill(text, value) // Check passed at submission
		command = append(command, filled)
	}
	env = make(map[string]string, len(p.Env)+1)
	for name, text := range p.Env {
		env[name], _ = fill(text, value)
	}
	if len(j.Inputs) > 0 {
		env["DIVVY_INPUTS"] = strings.Join(j.Inputs, "\n")
	}
	return command, env
}

func (p Payload) value(name string, j piece) string {
	switch name {
	case "Index":
		return strconv.FormatInt(j.Index, 10)
	case "Input", "Inputs":
		return strings.Join(j.Inputs, " ")
	case "FirstEvent":
		return strconv.FormatInt(j.FirstEvent, 10)
	case "Events":
		return strconv.FormatInt(j.Events, 10)
	}
	return p.matrixValue(name, j.Index)
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
