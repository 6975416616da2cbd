package generator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/access"
)

// Lists of recent tasks begin with the newest, and say no to what a filter says no to.
func TestRecent(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	submit := func(name, user, label, parameters string) int64 {
		s := spec.Spec{Name: name, User: user, Kind: spec.Kind{Label: label}, Share: "Test", Command: []string{"true"}, Count: 1}
		task, err := w.Submit(ctx, SubmitRequest{Spec: s, Parameters: json.RawMessage(parameters)})
		if err != nil {
			t.Fatal(err)
		}
		return task.ID
	}
	a := submit("a", "ann", "user", `{"panda": {"reqID": 77}}`)
	b := submit("b", "ann", "managed", `{"panda": {}}`)
	c := submit("c", "bob", "user", "")
	if _, err := w.Say(ctx, VerbKill, a, nil); err != nil {
		t.Fatal(err)
	}
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	for _, q := range []struct {
		what string
		r    view.Recent
		want []int64
	}{
		{"all", view.Recent{}, []int64{c, b, a}},
		{"two", view.Recent{Limit: 2}, []int64{c, b}},
		{"of ann", view.Recent{User: "ann"}, []int64{b, a}},
		{"of ann, one", view.Recent{User: "ann", Limit: 1}, []int64{b}},
		{"of nobody", view.Recent{User: "zoe"}, nil},
		{"by label", view.Recent{Label: "user"}, []int64{c, a}},
		{"of ann by label", view.Recent{User: "ann", Label: "user"}, []int64{a}},
		{"by name", view.Recent{Name: "b"}, []int64{b}},
		{"by request", view.Recent{Request: "77"}, []int64{a}},
		{"by id as request", view.Recent{Request: "2"}, []int64{b}},
		{"by state", view.Recent{States: []string{"ready", "running"}}, []int64{c, b}},
		{"changed since", view.Recent{Since: &past}, []int64{c, b, a}},
		{"not over", view.Recent{Since: &future}, []int64{c, b}},
		{"behind an id", view.Recent{After: b}, []int64{c}},
	} {
		tasks, err := w.Recent(ctx, q.r)
		if got := idsOf(tasks); err != nil || !slices.Equal(got, q.want) {
			t.Errorf("%s: %v, %v; want %v", q.what, got, err, q.want)
		}
	}
	tasks, err := w.TasksByID(ctx, []int64{a, 999, c})
	if err != nil || !slices.Equal(idsOf(tasks), []int64{c, a}) || tasks[0].Spec == nil || tasks[0].User != "bob" {
		t.Errorf("%+v, %v", tasks, err)
	}
	if tasks, err := w.TasksByID(ctx, nil); err != nil || len(tasks) != 0 {
		t.Errorf("%+v, %v", tasks, err)
	}
}

func idsOf(tasks []view.Task) (ids []int64) {
	for _, t := range tasks {
		ids = append(ids, t.ID)
	}
	return ids
}

// A task that cannot be is kept with what is wrong; no verb brings it to life.
func TestReject(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	asked := access.With(ctx, &access.Caller{Name: "ann", Role: "panda"})
	got, err := w.Reject(asked, Rejected{Name: "n", User: "u", Reason: "jobParameters: is missing", Parameters: json.RawMessage(`{"panda": {"test": 1}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if got.State != "aborted" || got.Reason != "jobParameters: is missing" || got.EndedAt == nil || got.Jobs.Total != 0 || got.Share != "" ||
		!strings.Contains(string(got.Parameters), `"test": 1`) {
		t.Errorf("%+v", got)
	}
	if noted := one[string](t, w.db, `SELECT string_agg(who || ': ' || what || ' ' || object || ' ' || after, '; ') FROM audit`); noted != fmt.Sprintf("ann: task.submit %d n of u", got.ID) {
		t.Errorf("the audit has %q", noted)
	}
	if _, err := w.Say(ctx, VerbRetry, got.ID, nil); !errors.Is(err, judge.ErrState) {
		t.Errorf("retry: %v", err)
	}
	if c, err := w.Say(ctx, VerbKill, got.ID, nil); err != nil || c.After != "aborted" {
		t.Errorf("kill: %+v, %v", c, err)
	}
	if _, err := w.Prioritise(ctx, got.ID, 5); !errors.Is(err, judge.ErrState) {
		t.Errorf("priority: %v", err)
	}
	if _, err := w.Generate(ctx); err != nil {
		t.Error(err)
	}
	for _, r := range []Rejected{{User: "u"}, {Name: "n"}, {Name: "n", User: "u", Parameters: make([]byte, maxParameters+1)}} {
		if _, err := w.Reject(ctx, r); !errors.Is(err, spec.ErrInvalid) {
			t.Errorf("%.40v: %v", r, err)
		}
	}
}
