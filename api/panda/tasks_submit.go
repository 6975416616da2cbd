package panda

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/divvyhq/divvy/api/panda/taskspec"
	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/tags"
	"github.com/divvyhq/divvy/generator/view"
)

// submitted is what is stored of a submission beside its Spec.
type submitted struct {
	Parameters json.RawMessage    `json:"panda"` // as they came, all of them
	Ignored    []taskspec.Ignored `json:"ignored"`
	Parent     int64              `json:"parent,omitempty"` // the task that it was submitted under
	Broken     bool               `json:"broken,omitempty"` // it cannot be
}

// submitTask makes a task of task parameters. The data of the answer is its id; the message names the parameters that
// divvy ignores.
func (s tasks) submitTask(r *http.Request, a wire.Args) wire.Envelope {
	e, _ := s.submit(r, a)
	return e
}

func (s tasks) submit(r *http.Request, a wire.Args) (wire.Envelope, error) {
	ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
	defer cancel()
	given, err := taskParams(a["task_parameters"])
	if err != nil {
		return wire.Bad("%s", err), nil
	}
	t, ignored, err := s.makeTask(ctx, given, a.Integer("parent_tid"), r.Header.Get("Idempotency-Key"))
	if err != nil {
		return s.noTask("submit", err), err
	}
	e := wire.Good(t.ID)
	e.Message = fmt.Sprintf("succeeded. new jediTaskID=%d", t.ID)
	if len(ignored) > 0 {
		e.Message = wire.Cut(e.Message+"; ignored: "+reasons(ignored), wire.MaxMessage)
	}
	return e, nil
}

// paramFaults are task parameters that cannot be, each with its name.
type paramFaults struct{ error }

// cannotBe is true for faults of the parameters themselves.
func cannotBe(err error) bool {
	var faults paramFaults
	return errors.As(err, &faults) || errors.Is(err, spec.ErrInvalid) || errors.Is(err, tags.ErrUntagged)
}

func (s tasks) makeTask(ctx context.Context, given wire.Args, parent int64, key string) (view.Task, []taskspec.Ignored, error) {
	st, err := s.Site.Load(ctx)
	if err == nil && st.Number == 0 {
		err = tags.ErrNoSite
	}
	if err != nil {
		return view.Task{}, nil, err
	}
	asked, c := given, wire.CallerOf(ctx)
	if who := c.Known(); who != "" && (c.User != "" || wire.Absent(given["userName"])) {
		asked = maps.Clone(given)
		asked["userName"] = who
	}
	if kind, _ := wire.ToText(asked["processingType"]); wire.Absent(asked["userName"]) && taskspec.ClientKind.MatchString(kind) {
		asked = maps.Clone(asked)
		asked["userName"] = "anonymous" // panda-client leaves the name to the server; at an open listener callers have none
	}
	task, ignored, err := taskspec.Translate(asked, st)
	if err != nil {
		return view.Task{}, nil, paramFaults{err}
	}
	if named, _ := wire.ToText(given["userName"]); c.User != "" && !wire.Absent(given["userName"]) && named != c.User {
		ignored = append(ignored, taskspec.Ignored{Parameter: "userName", Reason: "the credential stands for " + c.User + ", whose the task is"})
	}
	if parent != 0 {
		ignored = append(ignored, taskspec.Ignored{Parameter: "parent_tid", Reason: taskspec.WhyNot["parentTaskName"]})
	}
	kept, err := keep(given, submitted{Ignored: ignored, Parent: parent})
	if err != nil {
		return view.Task{}, nil, err
	}
	t, err := s.Submissions.Submit(ctx, generator.SubmitRequest{Spec: task, Parameters: kept, IdempotencyKey: key})
	return t, ignored, err
}

// keep writes down parameters as they came.
func keep(given wire.Args, k submitted) (json.RawMessage, error) {
	original, err := json.Marshal(given)
	if err != nil {
		return nil, err
	}
	k.Parameters, k.Ignored = original, append([]taskspec.Ignored{}, k.Ignored...)
	return json.Marshal(k)
}

// insertTask is submit by its older name. As in PanDA it takes whatever it is given: parameters that cannot be make a task
// that is broken, and its errorDialog has the faults.
func (s tasks) insertTask(r *http.Request, a wire.Args) wire.Envelope {
	e, err := s.submit(r, a)
	if !cannotBe(err) {
		return e
	}
	given, err := taskParams(a["task_parameters"])
	if err != nil {
		return wire.Bad("%s", err)
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
	defer cancel()
	kept, err := keep(given, submitted{Parent: a.Integer("parent_tid"), Broken: true})
	if err != nil {
		return s.noTask("insert_task_parameters", err)
	}
	name, _ := wire.ToText(given["taskName"])
	user, _ := wire.ToText(given["userName"])
	c := wire.CallerOf(ctx)
	t, err := s.Submissions.Reject(ctx, generator.Rejected{Name: cmp.Or(wire.Clean(name), "unnamed"),
		User: cmp.Or(c.User, wire.Clean(user), c.Known(), "anonymous"), Reason: e.Message, Parameters: kept})
	if err != nil {
		return s.noTask("insert_task_parameters", err)
	}
	return wire.Envelope{Success: true, Message: fmt.Sprintf("succeeded. new jediTaskID=%d; the task is broken: %s", t.ID, e.Message), Data: t.ID}
}

// taskParams are an object, or one written as a text.
func taskParams(v any) (wire.Args, error) {
	switch v := v.(type) {
	case map[string]any:
		return wire.Args(v), nil
	case string:
		if strings.HasPrefix(strings.TrimSpace(v), "{") {
			return wire.ParseJSON([]byte(v))
		}
	}
	return nil, fmt.Errorf("Type error: 'task_parameters' must be of type dict, got %s.", wire.KindOf(v))
}

func reasons(all []taskspec.Ignored) string {
	words := make([]string, len(all))
	for i, one := range all {
		words[i] = one.Parameter + " (" + one.Reason + ")"
	}
	return strings.Join(words, ", ")
}
