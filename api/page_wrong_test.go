package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/tags"
)

// All that is wrong with a link is named at once, by what it is: a parameter of the query; on a page too.
func TestPageNamesAllThatIsWrong(t *testing.T) {
	b := newBench(t)
	p := b.problem(b.call("GET", "/decisions?share=Nobody&task=x&colour=red&format=xml", ""), 422)
	var places []string
	for _, e := range p.Errors {
		places = append(places, e.Location)
	}
	slices.Sort(places)
	if want := []string{"query.colour", "query.format", "query.share", "query.task"}; !slices.Equal(places, want) {
		t.Errorf("%v, want %v: %v", places, want, p)
	}
	w := b.call("GET", "/decisions?share=Nobody&task=x", "", "Accept", "text/html")
	for _, want := range []string{"query.share is &#34;Nobody&#34;: no share has this name", "query.task is &#34;x&#34;: expected a whole number"} {
		if w.Code != 422 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%d, no %q: %s", w.Code, want, w.Body)
		}
	}
	b.problem(b.call("GET", "/events?of=/decisions%3Fcolour%3Dred", ""), 422)
}

// What a package below calls a field is a parameter where there is no body.
func TestFieldsOfAQuery(t *testing.T) {
	b := newBench(t)
	b.tasks.err = spec.Faults{{Field: "after", Message: "is no cursor"}}
	for _, path := range []string{"/tasks?after=x&format=json", "/v1/tasks"} {
		if p := b.problem(b.call("GET", path, ""), 422); len(p.Errors) != 1 || p.Errors[0].Location != "query.after" {
			t.Errorf("%s: %v", path, p)
		}
	}
	if p := b.problem(b.call("POST", "/v1/tasks", goodTask), 422); p.Errors[0].Location != "body.after" {
		t.Errorf("of a body: %v", p)
	}
	b.tasks.err = nil
	b.dispatcher.err = &job.FieldError{Field: "name", Want: "a name"}
	if p := b.problem(b.call("DELETE", "/v1/resource-claims?name=x", ""), 422); p.Errors[0].Location != "query.name" {
		t.Errorf("of a DELETE: %v", p)
	}
}

// A path without a parameter is not taken for one with, and says which methods it has.
func TestFixedPathsAreNoIDs(t *testing.T) {
	b := newBench(t)
	for path, allow := range map[string]string{"/v1/tasks/batch": "POST", "/v1/tasks/actions": "POST"} {
		w := b.call("GET", path, "")
		if p := b.problem(w, 405); w.Header().Get("Allow") != allow || p.Detail != "GET "+path {
			t.Errorf("%s: allow %q, %v", path, w.Header().Get("Allow"), p)
		}
	}
	if w := b.call("GET", "/v1/tasks/3", ""); w.Code != 200 {
		t.Errorf("a task: %d %s", w.Code, w.Body)
	}
	if w := b.call("HEAD", "/healthz", ""); w.Code != 200 {
		t.Errorf("HEAD: %d", w.Code)
	}
}

// Where nobody needs to log in the page says so; and no problem says twice that no rule matches.
func TestWordsOfErrors(t *testing.T) {
	b := newBench(t)
	if w := b.call("GET", "/login?next=/queues", "", "Accept", "text/html"); w.Code != 200 || !strings.Contains(w.Body.String(), "Nobody needs to log in") ||
		!strings.Contains(w.Body.String(), `href="/queues"`) || strings.Contains(w.Body.String(), "type=\"password\"") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	p := problem.Of(fmt.Errorf("%w: no tagging rule matches; closest is rule 1", tags.ErrUntagged))
	if text := p.Error(); strings.Count(text, "no tagging rule") != 1 || strings.Contains(text, "no share for this task") || p.Code != "untagged" {
		t.Error(text)
	}
}
