package spec

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// Over each limit of a task file there is a fault that names field and limit; at the limit there is none of the kind. The
// table of limits in docs/files.md has the same figures.
func TestOverLimits(t *testing.T) {
	task := func(more string) string { return "name: n\nuser: u\ncommand: [a]\n" + more + "\n" }
	list := func(n int, entry string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = strings.ReplaceAll(entry, "%", fmt.Sprint(i))
		}
		return strings.Join(all, ", ")
	}
	for name, c := range map[string]struct {
		src         func(over int) string
		field, want string
	}{
		"name": {func(o int) string {
			return "name: " + strings.Repeat("n", 200+o) + "\nuser: u\ncommand: [a]\ncount: 1\n"
		}, "name", "more than 200 letters"},
		"labels":    {func(o int) string { return task("count: 1\nlabels: {" + list(200+o, "k%: v") + "}") }, "labels", "more than 200 entries"},
		"label":     {func(o int) string { return task("count: 1\nlabels: {k: " + strings.Repeat("v", 200+o) + "}") }, "k", "more than 200 letters"},
		"env":       {func(o int) string { return task("count: 1\nenv: {" + list(200+o, "K%: v") + "}") }, "env", "more than 200 entries"},
		"queues":    {func(o int) string { return task("count: 1\nqueues: [" + list(200+o, "q%") + "]") }, "queues", "more than 200"},
		"arguments": {func(o int) string { return "name: n\nuser: u\ncount: 1\ncommand: [" + list(1000+o, "a%") + "]\n" }, "command", "more than 1000 elements"},
		"payload": {func(o int) string {
			return "name: n\nuser: u\ncount: 1\ncommand: [" + strings.Repeat("a", 131071+o) + "]\n"
		}, "command", "more than 131072"},
		"count":  {func(o int) string { return task(fmt.Sprintf("count: %d", 10_000_000+o)) }, "count", "more than 10000000"},
		"events": {func(o int) string { return task(fmt.Sprintf("events: {total: %d, per_job: 1}", 10_000_000+o)) }, "events", "more than 10000000"},
		"axes":   {func(o int) string { return task("matrix: {" + list(10+o, "a%: [1]") + "}") }, "matrix", "more than 10 axes"},
		"matrix": {func(o int) string {
			return task("matrix: {a: [" + list(4000+o, "%") + "], b: [" + list(2500, "%") + "]}")
		}, "matrix", "more than 10000000 jobs"},
		"input":     {func(o int) string { return task("inputs: [" + strings.Repeat("i", 4096+o) + "]") }, "inputs", "more than 4096 bytes"},
		"locations": {func(o int) string { return task("inputs: [{name: a, locations: [" + list(50+o, "l%") + "]}]") }, "inputs", "50"},
		"per_job":   {func(o int) string { return task(fmt.Sprintf("inputs: [a]\nper_job: %d", 10_000+o)) }, "per_job", "more than 10000"},
		"attempts":  {func(o int) string { return task(fmt.Sprintf("count: 1\nmax_attempts: %d", 100+o)) }, "max_attempts", "is more than 100"},
		"priority":  {func(o int) string { return task(fmt.Sprintf("count: 1\npriority: %d", 1_000_000_000+o)) }, "priority", "1000000000"},
		"cores":     {func(o int) string { return task(fmt.Sprintf("count: 1\nrequirements: {cores: %d}", 10_000+o)) }, "cores", "is more than 10000"},
		"needs":     {func(o int) string { return task("count: 1\nneeds: [" + list(100+o, "{task: %1}") + "]") }, "needs", "100"},
		"aliases": {func(o int) string { // one list in ten axes
			all := "matrix: {a: &v [" + list(150_000+60_000*o, "%") + "]"
			for _, axis := range strings.Split("bcdefghij", "") {
				all += ", " + axis + ": *v"
			}
			return task(all + "}")
		}, "", "more than 2000000 values"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseSpecs("f", []byte(c.src(0))); err != nil && strings.Contains(err.Error(), c.want) {
				t.Errorf("at the limit: %.300v", err)
			}
			_, err := ParseSpecs("f", []byte(c.src(1)))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.field) {
				t.Fatalf("over the limit: %.500v, want %s: %q", err, c.field, c.want)
			}
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("%.200v names no place", err)
			}
		})
	}
}

// A line of a file of inputs that is too long is refused with its number, before the file is read on.
func TestOverLimitsOfInputFiles(t *testing.T) {
	for format, text := range map[InputsFormat]string{
		NamesFormat: "a\n" + strings.Repeat("x", MaxLine+1), LinesFormat: "\"a\"\n\"" + strings.Repeat("x", MaxLine) + "\"", CSVFormat: "name\n" + strings.Repeat("x", MaxInput+1) + "\n",
	} {
		_, err := EncodeInputs(&bytes.Buffer{}, strings.NewReader(text), format, 0)
		if err == nil || !strings.HasPrefix(err.Error(), "line 2") || !strings.Contains(err.Error(), "more than") {
			t.Errorf("format %d: %v", format, err)
		}
	}
}
