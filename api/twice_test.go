package api

import (
	"errors"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/api/wire"
)

// A key given twice is refused with its name and its place, however it is written; the same key in two objects is not twice.
func TestKeysOnlyOnce(t *testing.T) {
	for text, want := range map[string]string{
		`{"env":{"A":"1","B":"2","A":"3"}}`:                `key "A" is given twice in body.env; say it once`,
		`{"env":{"A":"1","\u0041":"3"}}`:                   `key "A" is given twice in body.env`,
		`{"name":"a","count":1,"name":"b"}`:                `key "name" is given twice in body;`,
		`{"tasks":[{"a":1},{"task":{"env":{"":0,"":1}}}]}`: `key "" is given twice in body.tasks[1].task.env`,
		`[1,[{"a":[]}],{"a":{},"b":[{}],"a":null}]`:        `key "a" is given twice in body[2];`,
		`{"a":{"a":[{"a":1},{"a":"a"}]},"b":"a","A":{}}`:   "",
		`[[],{},{"a":[{"b":1},{"b":1}]},{"a":1},"a","a"]`:  "",
		`"a"`: "", `{}`: "", `null`: "", `1e400`: "expected a number",
	} {
		var p *wire.Problem
		said := ""
		if errors.As(checkJSON(nil, anything, []byte(text)), &p) && len(p.Errors) == 1 {
			said = p.Errors[0].Message
		}
		if (said == "") != (want == "") || !strings.HasPrefix(said, want) {
			t.Errorf("%s: %q, want %q", text, said, want)
		}
	}
}

// Every route that takes JSON is as strict, and says nothing of the values.
func TestRoutesTakeKeysOnce(t *testing.T) {
	b := newBench(t)
	const task = `{"name":"t","user":"u","command":["x"],"count":1,"env":{"TOKEN":"s3cret","TOKEN":"other"}}`
	for path, body := range map[string]string{
		"/v1/tasks":            task,
		"/v1/tags/test":        task,
		"/v1/tasks/batch":      `{"tasks":[{"task":` + task + `}]}`,
		"/v1/tasks/3/clone":    `{"changes":{"env":{"TOKEN":"s3cret","TOKEN":"other"}}}`,
		"/v1/tasks/3/priority": `{"priority":1,"priority":2}`,
	} {
		w := b.call("POST", path, body)
		p := b.problem(w, 422)
		if p.Code != "invalid" || len(p.Errors) != 1 || !strings.Contains(p.Errors[0].Message, "is given twice in body") {
			t.Errorf("%s: %+v", path, p)
		}
		if strings.Contains(w.Body.String(), "s3cret") || strings.Contains(w.Body.String(), "other") {
			t.Errorf("%s: the answer has a value in it", path)
		}
	}
}
