package api

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// filled is a body of about 8 MB: one text again and again between two others.
func filled(before, one, after string) string {
	return before + strings.Repeat(one, (edge.MaxBody-len(before)-len(after)-1)/len(one)-1) + strings.TrimSuffix(one, ",") + after
}

// hostile are bodies of 8 MB that have as much wrong as they can. The figure is how many bytes reading may take for each of them.
var hostile = []struct {
	name, path, body string
	perByte          uint64
}{
	{"not tasks", "/v1/tasks/batch", filled(`{"tasks":[`, "0,", "]}"), 8},
	{"empty tasks", "/v1/tasks/batch", filled(`{"tasks":[`, "{},", "]}"), 8},
	{"empty needs", "/v1/tasks", filled(`{"name":"n","user":"u","needs":[`, "{},", "]}"), 8},
	{"roles", "/v1/tasks", filled(`{"name":"n","user":"u","roles":[`, `{"role":"a"},`, "]}"), 8},
	{"only", "/v1/tasks", filled(`{"name":"n","user":"u","sharing":[{"claim":"c","only":[`, `"a",`, "]}]}"), 8},
	{"wrong inputs", "/v1/tasks", filled(`{"name":"n","user":"u","command":["c"],"inputs":[`, "0,", "]}"), 8},
	{"names of inputs", "/v1/tasks", filled(`{"name":"n","user":"u","command":["c"],"inputs":[`, `"",`, "]}"), 40},
	{"unknown keys", "/v1/tasks", numbered(`{"name":"n","user":"u"`, `,"k%d":0`, "}"), 8},
	{"variables", "/v1/tasks", numbered(`{"name":"n","user":"u","env":{"a":"a"`, `,"k%d":"0"`, "}}"), 8},
	{"a long key", "/v1/tasks", `{"` + strings.Repeat("k", edge.MaxBody-10) + `":0}`, 24},
	{"selection", "/v1/tasks/actions", filled(`{"verb":"kill","tasks":[`, "-1,", "]}"), 8},
	{"ends", "/v1/leases/finish", filled(`{"pilot":"p","results":[`, "{},", "]}"), 8},
	{"renewals", "/v1/leases/renew", filled(`{"pilot":"p","leases":[`, "{},", "]}"), 8},
}

// numbered is a body of about 8 MB whose parts differ by a number.
func numbered(before, one, after string) string {
	b := strings.Builder{}
	b.WriteString(before)
	for i := 0; b.Len() < edge.MaxBody-100; i++ {
		fmt.Fprintf(&b, one, i)
	}
	b.WriteString(after)
	return b.String()
}

// A body that is as wrong as can be costs no more than to read it: a hundred errors are told, and the rest is not looked at.
func TestHostileBodies(t *testing.T) {
	b := newBench(t)
	for _, h := range hostile {
		if len(h.body) < edge.MaxBody-100 || len(h.body) > edge.MaxBody {
			t.Fatalf("%s: %d bytes", h.name, len(h.body))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		w := b.call("POST", h.path, h.body)
		runtime.ReadMemStats(&after)
		var p wire.Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code < 400 || w.Code >= 500 {
			t.Errorf("%s: %d %.200s %v", h.name, w.Code, w.Body, err)
		}
		if len(p.Errors) > problem.Most || w.Body.Len() > 64<<10 {
			t.Errorf("%s: %d errors in %d bytes", h.name, len(p.Errors), w.Body.Len())
		}
		if got, most := after.TotalAlloc-before.TotalAlloc, h.perByte*uint64(len(h.body)); got > most && !pgtest.Raced {
			t.Errorf("%s: took %d MB, more than %d", h.name, got>>20, most>>20)
		}
	}
}

// A hundred errors are told of many tasks together: each that cannot be is told one.
func TestManyTasksTellAHundredErrors(t *testing.T) {
	b := newBench(t)
	b.tasks.faults = make(spec.Faults, 90)
	w := b.call("POST", "/v1/tasks/batch", `{"tasks":[`+strings.TrimSuffix(strings.Repeat(`{"task":{"name":"bad","user":"u"}},`, 1000), ",")+`]}`)
	var out ManySubmitted
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || len(out.Tasks) != 1000 {
		t.Fatal(w.Code, err)
	}
	told := 0
	for i, one := range out.Tasks {
		if one.Problem == nil || len(one.Problem.Errors) == 0 {
			t.Fatalf("task %d: nothing is told", i)
		}
		told += len(one.Problem.Errors)
	}
	if told > problem.Most+len(out.Tasks) || out.Tasks[999].Problem.Detail == "" {
		t.Errorf("%d errors, %+v", told, out.Tasks[999].Problem)
	}
}
