package api

import (
	"strings"
	"testing"
)

func TestManyTasks(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct{ path, body, want string }{
		{"/v1/tasks/3/retry", `{"memory_mb":8000,"walltime":"12h"}`, `"task":0`},
		{"/v1/tasks/actions", `{"verb":"pause","user":"alice","dry_run":true}`, `"changed":1`},
		{"/v1/tasks/3/clone", `{"changes":{"priority":5}}`, `"id":3`},
		{"/v1/tasks/3/clone", `{}`, `"id":3`},
		{"/v1/tasks/batch", `{"tasks":[{"key":"k","task":{"name":"a","user":"u","command":["x"],"count":1}},{"task":{"name":"bad","user":"u"}}]}`, `"problem":{"title":"The request is not valid","status":422,"code":"invalid"`},
	} {
		if w := b.call("POST", c.path, c.body); w.Code/100 != 2 || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s: %d %s", c.path, c.body, w.Code, w.Body)
		}
	}
	if with := b.tasks.with; with == nil || *with.MemoryMB != 8000 || *with.Walltime != 12*3600 || with.Cores != nil {
		t.Errorf("with %+v", b.tasks.with)
	}
	if r := b.tasks.act; r.Verb != "pause" || r.User != "alice" || !r.DryRun {
		t.Errorf("act %+v", r)
	}
	if b.tasks.cloned.Task != 3 {
		t.Errorf("cloned %+v", b.tasks.cloned)
	}
	for _, c := range []struct{ path, body, at string }{
		{"/v1/tasks/actions", `{"verb":"eat","user":"a"}`, "body.verb"},
		{"/v1/tasks/actions", `{"verb":"kill","users":"a"}`, "body.users"},
		{"/v1/tasks/3/retry", `{"memory":1}`, "body.memory"},
		{"/v1/tasks/batch", `{"tasks":[]}`, "body.tasks"},
	} {
		if p := b.problem(b.call("POST", c.path, c.body), 422); len(p.Errors) == 0 || p.Errors[0].Location != c.at {
			t.Errorf("%s %s: %+v", c.path, c.body, p)
		}
	}
}
