package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/wire"
)

// Whatever is sent to a route that changes something, the answer is an answer: no panic, no 500; and a refusal is a problem
// that says what is wrong.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{`{}`, `[]`, `null`, `{`, `"x"`, `{"name":"t","user":"u","command":["a"],"jobs":3}`, `{"name":"a","role":"reader"}`, `{"tasks":[1],"share":"A"}`,
		`{"verb":"kill","selection":{"tasks":[1]}}`, `{"priority":7}`, `{"cores":8,"slots":3}`, `{"state":"drain"}`, `{"inputs":["a",{"name":"b","size":-1}]}`,
		"shares:\n- {name: A, weight: 1}\nqueues:\n- {name: q, slots: 1}\n", `{"ids":[9223372036854775808]}`, strings.Repeat(`{"a":`, 2000), `{"user":"` + "\\u0000" + `"}`} {
		f.Add(seed, true)
	}
	b := newBench(&testing.T{})
	fill := strings.NewReplacer("{id}", "3", "{name}", "CERN", "{version}", "1", "{queue}", "CERN", "{task}", "3", "{job}", "7", "{claim}", "7", "*", "A")
	f.Fuzz(func(t *testing.T, body string, asJSON bool) {
		for _, r := range edge.Rights {
			if r.Method == http.MethodGet || !strings.HasPrefix(r.Pattern, "/v1/") {
				continue
			}
			kind := "application/yaml"
			if asJSON {
				kind = "application/json"
			}
			w := b.call(r.Method, fill.Replace(r.Pattern), body, "Content-Type", kind)
			switch {
			case w.Code == http.StatusNotImplemented: // not wired in this bench
			case w.Code >= 500:
				t.Errorf("%s %s: %d %s", r.Method, r.Pattern, w.Code, w.Body)
			case w.Code >= 400 && w.Header().Get("Content-Type") == wire.ProblemType:
				var p wire.Problem
				if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Code == "" || p.Title == "" {
					t.Errorf("%s %s: %d %s: %v", r.Method, r.Pattern, w.Code, w.Body, err)
				}
			}
		}
	})
}
