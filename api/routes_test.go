package api

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/lookup"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/tags"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
)

func TestSubmit(t *testing.T) {
	b := newBench(t)
	w := b.call("POST", "/v1/tasks", goodTask, "Idempotency-Key", "k1")
	if w.Code != 201 {
		t.Fatal(w.Code, w.Body)
	}
	got := b.tasks.submitted
	if got.IdempotencyKey != "k1" || got.Spec.Count != 3 || got.Spec.Requirements.Walltime != 7200 {
		t.Errorf("%+v", got)
	}
}

// Submissions are strict: every fault with its place, unknown fields too.
func TestSubmitRefuses(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		body, at string
		status   int
	}{
		{`{"name":"t","user":"u","command":["x"],"count":1,"priorty":3}`, "body.priorty", 422},
		{`{"name":"t","user":"u","command":"x","count":1}`, "body.command", 422},
		{`{"name":"t","user":"u","command":["x"],"requirements":{"cores":-1}}`, "body.requirements.cores", 422},
		{`{"name":"t"`, "", 400},
		{``, "", 400},
	} {
		p := b.problem(b.call("POST", "/v1/tasks", c.body), c.status)
		if c.at != "" && (len(p.Errors) == 0 || p.Errors[0].Location != c.at) {
			t.Errorf("%s: %v", c.body, p)
		}
	}
	big := `{"name":"` + strings.Repeat("x", edge.MaxBody) + `"}`
	b.problem(b.call("POST", "/v1/tasks", big), 413)
	if p := b.problem(b.call("POST", "/v1/tasks", "name: x", "Content-Type", "text/yaml"), 415); p.Code != "media_type" {
		t.Error(p)
	}
}

func TestTaskErrors(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{fmt.Errorf("task 3: %w", view.ErrNoTask), 404, "no_task"},
		{&judge.StateError{Task: 3, Verb: "pause", State: "done"}, 409, "task_state"},
		{generator.ErrKeyReused, 422, "key_reused"},
		{fmt.Errorf("%w: closest is rule 1", tags.ErrUntagged), 422, "untagged"},
		{fmt.Errorf("submit: %w", tags.ErrNoSite), 409, "no_site"},
		{spec.Faults{{Field: "count", Message: "is negative", Hint: "1 or more"}}, 422, "invalid"},
	} {
		b.tasks.err = fmt.Errorf("submit: %w", c.err)
		p := b.problem(b.call("POST", "/v1/tasks", goodTask), c.status)
		if p.Code != c.code {
			t.Errorf("%v: %s", c.err, p.Code)
		}
	}
	p := b.problem(b.call("POST", "/v1/tasks/3/pause", ""), 422)
	if len(p.Errors) != 1 || p.Errors[0].Location != "body.count" || p.Errors[0].Hint != "1 or more" {
		t.Error(p)
	}
}

func TestVerbs(t *testing.T) {
	b := newBench(t)
	for _, verb := range []string{"kill", "pause", "resume", "retry", "finish"} {
		if w := b.call("POST", "/v1/tasks/3/"+verb, ""); w.Code != 200 || b.tasks.verb != verb {
			t.Errorf("%s: %d %q", verb, w.Code, b.tasks.verb)
		}
	}
	if w := b.call("POST", "/v1/tasks/3/priority", `{"priority":900}`); w.Code != 200 || !strings.Contains(w.Body.String(), `"task":3,"before":5,"after":900,`) {
		t.Errorf("priority: %d %s", w.Code, w.Body)
	}
	for body, at := range map[string]string{`{}`: "body", `{"priority":1000000001}`: "body.priority", `{"priority":1.5}`: "body.priority", `{"priority":1,"x":1}`: "body.x"} {
		if p := b.problem(b.call("POST", "/v1/tasks/3/priority", body), 422); len(p.Errors) == 0 || p.Errors[0].Location != at {
			t.Errorf("%s: %v", body, p)
		}
	}
	if w := b.call("POST", "/v1/tasks/3/scale", `{"group":"g","replicas":0}`); w.Code != 200 || !strings.Contains(w.Body.String(), `"task":3,"group":"g","before":3,"after":0,`) {
		t.Errorf("scale: %d %s", w.Code, w.Body)
	}
	for body, at := range map[string]string{`{}`: "body", `{"replicas":"2"}`: "body.replicas", `{"replicas":1,"groups":"g"}`: "body.groups"} {
		if p := b.problem(b.call("POST", "/v1/tasks/3/scale", body), 422); len(p.Errors) == 0 || p.Errors[0].Location != at {
			t.Errorf("%s: %v", body, p)
		}
	}
	for verb, state := range map[string]shares.QueueState{"drain": shares.Drain, "online": shares.Online, "offline": shares.Offline} {
		w := b.call("POST", "/v1/queues/CERN/"+verb, "")
		if w.Code != 200 || b.site.state != state || !strings.Contains(w.Body.String(), fmt.Sprintf("%q:%q", "state", state)) {
			t.Errorf("%s: %d %s", verb, w.Code, w.Body)
		}
	}
	b.site.err = fmt.Errorf("%w: \"X\"", site.ErrUnknownQueue)
	if p := b.problem(b.call("POST", "/v1/queues/X/drain", ""), 404); p.Code != "unknown_queue" || !strings.Contains(p.Hint, "CERN") {
		t.Error(p)
	}
}

func TestLists(t *testing.T) {
	b := newBench(t)
	b.dispatcher.jobs = []dispatcher.JobRow{{ID: 5}, {ID: 9}}
	for path, next := range map[string]string{
		"/v1/jobs?limit=2": `"next":"9"`, "/v1/jobs?limit=3": `"next":""`, "/v1/jobs?limit=2&after=4&task=3&state=ready": `"next":"9"`,
		"/v1/site/versions?limit=2": `"next":"1"`, "/v1/tasks": `"next":"3"`, "/v1/queues": `"next":""`,
	} {
		if w := b.call("GET", path, ""); w.Code != 200 || !strings.Contains(w.Body.String(), next) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	b.call("GET", "/v1/jobs?after=4&task=3&state=ready", "")
	if f := b.dispatcher.filter; f != (dispatcher.JobFilter{Task: 3, State: "ready", After: 4, Limit: 100}) {
		t.Errorf("filter: %+v", f)
	}
	b.call("GET", "/v1/jobs?task=3&ended_after=2026-01-02T03:04:05Z&last_attempt=true", "")
	if f := b.dispatcher.filter; f != (dispatcher.JobFilter{Task: 3, Limit: 100, EndedAfter: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Last: true}) {
		t.Errorf("filter: %+v", f)
	}
	for query, at := range map[string]string{
		"ended_after=2026-01-02T03:04:05Z": "query.ended_after", "task=3&state=ready&ended_after=2026-01-02T03:04:05Z": "query.state",
		"task=3&ended_after=soon": "query.ended_after", "last_attempt=true": "query.last_attempt", "task=3&last_attempt=true&limit=201": "query.limit",
	} {
		if p := b.problem(b.call("GET", "/v1/jobs?"+query, ""), 422); len(p.Errors) != 1 || p.Errors[0].Location != at {
			t.Errorf("%s: %v", query, p)
		}
	}
	b.call("GET", "/v1/tasks?user=u&state=done,failed&share=A&label=l&after=7&limit=9", "")
	if f := b.tasks.filter; !reflect.DeepEqual(f, view.Filter{User: "u", State: []string{"done", "failed"}, Share: "A", Label: "l", After: 7, Limit: 9}) {
		t.Errorf("filter: %+v", f)
	}
	for _, bad := range []string{"limit=0", "limit=1001", "limit=x", "after=x", "after=-1", "state=odd", "odd=1"} {
		p := b.problem(b.call("GET", "/v1/jobs?"+bad, ""), 422)
		if name, _, _ := strings.Cut(bad, "="); len(p.Errors) != 1 || p.Errors[0].Location != "query."+name {
			t.Errorf("%s: %v", bad, p)
		}
	}
	b.dispatcher.jobs = nil
	if w := b.call("GET", "/v1/jobs", ""); !strings.Contains(w.Body.String(), `"items":[]`) {
		t.Errorf("an empty list: %s", w.Body)
	}
}

func TestApply(t *testing.T) {
	b := newBench(t)
	w := b.call("PUT", "/v1/site?dry_run=true&move=A/x=B&move=C=D&note=n&by=me&file=my.yml", "shares: []\n", "Content-Type", "text/yaml")
	got := b.site.applied
	if w.Code != 200 || !got.DryRun || got.Moves["A/x"] != "B" || got.Moves["C"] != "D" || got.Note != "n" || got.By != "me" || got.Name != "my.yml" {
		t.Errorf("%d %s %+v", w.Code, w.Body, got)
	}
	if string(got.Source) != "shares: []\n" {
		t.Errorf("source %q", got.Source)
	}
	for _, bad := range []string{"move=A", "move==B", "move=A=", "move=A=B&move=A=C"} {
		p := b.problem(b.call("PUT", "/v1/site?"+bad, "shares: []\n"), 422)
		if p.Errors[0].Location != "query.move" {
			t.Errorf("%s: %v", bad, p)
		}
	}
	b.problem(b.call("PUT", "/v1/site", strings.Repeat("#", edge.MaxBody+1)), 413)
}

func TestApplyRefused(t *testing.T) {
	b := newBench(t)
	b.site.err = strict.Problems{{File: "my.yml", Line: 3, Column: 5, Message: "weight is negative", Hint: "0 or more"}, {File: "my.yml", Line: 9, Column: 1, Message: "unknown key"}}
	p := b.problem(b.call("PUT", "/v1/site", "x"), 422)
	if p.Code != "bad_site" || len(p.Errors) != 2 || p.Errors[0].String() != "my.yml:3:5: weight is negative (0 or more)" {
		t.Error(p)
	}
	b.site.err = strict.Problems{{File: "my.yml", Message: "the file is empty"}}
	if p = b.problem(b.call("PUT", "/v1/site", "#"), 422); p.Errors[0].Location != "my.yml" {
		t.Error(p)
	}
	if p = b.problem(b.call("PUT", "/v1/site", ""), 400); p.Code != "no_body" {
		t.Error(p)
	}
	b.site.err = &site.Refused{Obstacles: []site.Obstacle{{Share: "A/x", Message: "has live work", Hint: "--move", Live: &site.Live{Ready: 7}}}}
	p = b.problem(b.call("PUT", "/v1/site", "x"), 409)
	if p.Code != "live_work" || p.Errors[0].Location != "A/x" || p.Errors[0].Value == nil {
		t.Error(p)
	}
	b.site.err = fmt.Errorf("%w: 9", site.ErrNoVersion)
	if p := b.problem(b.call("POST", "/v1/site/rollback?version=9", ""), 404); p.Code != "no_version" {
		t.Error(p)
	}
	b.problem(b.call("POST", "/v1/site/rollback", ""), 422)
	b.site.err = fmt.Errorf("%w: version 3: site.yml:1:9: no list", site.ErrUnreadable)
	if p := b.problem(b.call("GET", "/v1/site/diff?from=3&to=4", ""), 409); p.Code != "unreadable_version" || !strings.Contains(p.Detail, "version 3: site.yml:1:9") {
		t.Error(p)
	}
}

func TestTagsTest(t *testing.T) {
	b := newBench(t)
	w := b.call("POST", "/v1/tags/test", goodTask)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"share":"A"`) {
		t.Error(w.Code, w.Body)
	}
}

func TestWrongOffset(t *testing.T) {
	b := newBench(t)
	b.tasks.err = fmt.Errorf("inputs: %w", &generator.OffsetError{Sent: 5, Want: 3})
	p := b.problem(b.call("PUT", "/v1/tasks/3/inputs?offset=5", "\"a\"\n"), 409)
	if p.Code != "wrong_offset" || p.Next == nil || *p.Next != 3 {
		t.Error(p)
	}
	for path, at := range map[string]string{"/v1/tasks/x/inputs": "path.id", "/v1/tasks/3/inputs?offset=-1": "query.offset", "/v1/tasks/3/inputs?offset=x": "query.offset"} {
		if p := b.problem(b.call("PUT", path, ""), 422); p.Errors[0].Location != at {
			t.Errorf("%s: %v", path, p)
		}
	}
}

func TestStatus(t *testing.T) {
	b := newBench(t)
	w := b.call("GET", "/v1/status", "")
	for _, want := range []string{`"build":"test"`, `"site_version":2`, `"ready_jobs":5`, `"held_jobs":3`, `"online":1`, `"drain":1`, `"ready":true`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s in %s", want, w.Body)
		}
	}
}

func TestKillJob(t *testing.T) {
	b := newBench(t)
	if w := b.call("POST", "/v1/jobs/7/kill", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"job":7,"state":"cancelled"`) {
		t.Error(w.Code, w.Body)
	}
	b.dispatcher.err = fmt.Errorf("job 7: %w", lookup.ErrNoJob)
	b.problem(b.call("POST", "/v1/jobs/7/kill", ""), 404)
	b.dispatcher.err = fmt.Errorf("kill: %w: nobody leads", dispatcher.ErrUnavailable)
	w := b.call("POST", "/v1/jobs/7/kill", "")
	if p := b.problem(w, 503); p.Code != "unavailable" || w.Header().Get("Retry-After") == "" {
		t.Errorf("%+v, Retry-After %q", p, w.Header().Get("Retry-After"))
	}
}

func TestJobLog(t *testing.T) {
	b := newBench(t)
	for path, tail := range map[string]string{"/v1/jobs/7/log": `"7.0\n"`, "/v1/jobs/7/log?attempt=2": `"7.2\n"`} {
		if w := b.call("GET", path, ""); w.Code != 200 || !strings.Contains(w.Body.String(), tail) {
			t.Error(w.Code, w.Body)
		}
	}
}
