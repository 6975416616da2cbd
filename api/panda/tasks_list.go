package panda

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/generator/view"
)

// usualLabel is the prodSourceLabel of the tasks to list if the request has none.
const usualLabel = "user"

// tasksModifiedSince lists tasks by id: those of the caller, unless another user is named, plainly or by a subject,
// whose last CN counts. A caller without a name lists the tasks of all users.
func (s tasks) tasksModifiedSince(r *http.Request, a wire.Args) wire.Envelope {
	since, err := wire.TimeOf(a.Text("since"))
	if err != nil || since == nil {
		return wire.Bad("since: expected a time such as 2024-12-18 14:30:45, got %q", a.Text("since"))
	}
	user := personOf(a.Text("dn"))
	if user == "" {
		user = owner(r)
	}
	chosen := view.Recent{User: user, Label: cmp.Or(a.Text("prod_source_label"), usualLabel), Since: since, After: a.Integer("min_task_id"), Limit: mostTasks}
	return wire.Answer(s.below(), r, "get_tasks_modified_since", func(ctx context.Context) (map[string]facts, error) {
		tasks, err := s.Known.Recent(ctx, chosen)
		found := map[string]facts{}
		for _, t := range tasks {
			f := factsOf(t)
			if a.Boolean("full") {
				f.detailed(t)
			}
			found[strconv.FormatInt(t.ID, 10)] = f
		}
		return found, err
	})
}

// owner returns the user whose tasks a caller means by default; "" = all users.
func owner(r *http.Request) string {
	if c := wire.CallerOf(r.Context()); c.Vouched || c.User != "" {
		return c.Known()
	}
	return ""
}

// personOf returns the last CN of a subject written with slashes, or any other text as it is.
func personOf(dn string) string {
	if i := strings.LastIndex(dn, "/CN="); i >= 0 {
		return dn[i+len("/CN="):]
	}
	return dn
}

// mostTasks bounds a list of tasks; usualTasks is its default length.
const (
	mostTasks  = 1000
	usualTasks = 500
)

// taskFilter is what a list of tasks must be like: a pattern by name of a fact. A pattern without a character that means
// something to regular expressions is a value.
type taskFilter map[string]*regexp.Regexp

// detailedSince lists tasks with all that is known of them. Who asks for ids, requests or a user gets them whoever they
// belong to, else the caller's are meant.
func (s tasks) detailedSince(r *http.Request, a wire.Args) wire.Envelope {
	chosen := view.Recent{User: owner(r), Limit: usualTasks}
	if n, said := a["n_tasks"].(int64); said {
		chosen.Limit = int(max(1, min(n, mostTasks)))
	}
	since, err := wire.TimeOf(a.Text("since"))
	if err != nil {
		return wire.Bad("since: %s", err)
	}
	chosen.Since = since
	filter, ids, err := readFilter(a.Text("filters"), &chosen)
	if err != nil {
		return wire.Bad("%s", err)
	}
	return wire.Answer(s.below(), r, "get_tasks_detailed_info_since", func(ctx context.Context) ([]facts, error) {
		var tasks []view.Task
		var err error
		if ids == nil || chosen.Request != "" {
			tasks, err = s.Known.Recent(ctx, chosen)
		}
		if err == nil && len(tasks) == 0 && ids != nil {
			tasks, err = s.Known.TasksByID(ctx, ids)
		}
		found := []facts{}
		for _, t := range tasks {
			if f := factsOf(t).detailed(t); filter.fits(f) {
				found = append(found, f)
			}
		}
		return found, err
	})
}

// readFilter reads filters, a JSON object in a text, and lets the database choose by what it has. ids are not nil where
// tasks are named by id, or by a request that may be one: a task without a request has its id, however long ago it was.
func readFilter(text string, chosen *view.Recent) (filter taskFilter, ids []int64, err error) {
	if text == "" {
		return nil, nil, nil
	}
	given, err := wire.ParseJSON([]byte(text))
	if err != nil {
		return nil, nil, fmt.Errorf(`filters is not valid JSON: expected an object such as {"status": "finished|done"}: %w`, err)
	}
	filter = taskFilter{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if wire.Absent(given[name]) {
			continue
		}
		value, ok := wire.ToText(given[name])
		if !ok {
			return nil, nil, fmt.Errorf("filters: %s must be of type str, got %s", name, wire.KindOf(given[name]))
		}
		plain := !strings.ContainsAny(value, `^$*+?\|()`)
		pattern := value
		if plain {
			pattern = "^(?:" + regexp.QuoteMeta(value) + ")$"
		}
		if filter[name], err = regexp.Compile(pattern); err != nil {
			return nil, nil, fmt.Errorf("filters: %s: %w", name, err)
		}
		if id, err := strconv.ParseInt(value, 10, 64); (name == "jediTaskID" || name == "reqID") && plain && err == nil {
			ids = []int64{id}
		}
		filter.narrow(name, value, plain, chosen)
	}
	filter.narrowStates(chosen)
	return filter, ids, nil
}

// narrow lets the database choose by a value.
func (f taskFilter) narrow(name, value string, plain bool, chosen *view.Recent) {
	switch name {
	case "jediTaskID", "reqID", "userName":
		chosen.User = ""
	}
	if !plain {
		return
	}
	switch name {
	case "reqID":
		chosen.Request = value
	case "userName":
		chosen.User = value
	case "taskName":
		chosen.Name = value
	case "prodSourceLabel":
		chosen.Label = value
	}
}

// narrowStates lets the database choose by the states that status and superStatus may mean.
func (f taskFilter) narrowStates(chosen *view.Recent) {
	status, super := f["status"], f["superStatus"]
	if status == nil && super == nil {
		return
	}
	means := func(p *regexp.Regexp, word string) bool { return p == nil || p.MatchString(word) }
	chosen.States = []string{"none"} // unless one fits
	for _, state := range taskStates {
		as := means(status, pandaState(state)) && means(super, superState(state))
		if as || state == "aborted" && means(status, broken) && means(super, broken) {
			chosen.States = append(chosen.States, state)
		}
	}
}

// fits is true for a task of which every fact that the filter names is as it says; names of no fact are passed over, as
// PanDA's server does it.
func (f taskFilter) fits(task facts) bool {
	for name, pattern := range f {
		v, known := task[name]
		if !known {
			continue
		}
		if !pattern.MatchString(written(v)) {
			return false
		}
	}
	return true
}

// written is a fact as text; None for null.
func written(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case string:
		return v
	case json.RawMessage:
		return string(v)
	}
	return fmt.Sprint(v)
}
