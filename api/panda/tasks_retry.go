package panda

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/internal/site"
)

// retryable are the parameters that may be others for a retry; with the rest it would be another task.
var retryable = []string{"coreCount", "excludedSite", "includedSite", "maxAttempt", "maxWalltime", "ramCount", "ramCountUnit", "ramUnit", "site",
	"taskPriority", "walltime", "walltimeUnit", "workDiskCount", "workDiskUnit"}

// tryAgain is the retry of a task as JEDI knows it: one that a scout has stopped goes on too.
func (s *server) tryAgain(ctx context.Context, id int64) (generator.Change, error) {
	c, err := s.Steering.Retry(ctx, id)
	var refused *generator.StateError
	if errors.As(err, &refused) && refused.State == "exhausted" {
		return s.Steering.Avalanche(ctx, id)
	}
	return c, err
}

// retryTask tries again what did not finish, by new_parameters where there are such.
func (s *server) retryTask(r *http.Request, a args) envelope {
	given, err := newTaskParameters(a["new_parameters"])
	switch {
	case err != nil:
		return bad("%s", err)
	case len(given) == 0:
		return s.taskVerb(generator.VerbRetry, s.tryAgain)(r, a)
	}
	return s.taskVerb(generator.VerbRetry, func(ctx context.Context, id int64) (generator.Change, error) {
		st, err := s.Site.Load(ctx)
		if err != nil {
			return generator.Change{}, err
		}
		t, err := s.Steering.Task(ctx, id)
		if err != nil {
			return generator.Change{}, err
		}
		with, err := changesOf(given, st, t.Spec)
		if err != nil {
			return generator.Change{}, err
		}
		return s.Steering.RetryWith(ctx, id, with)
	})(r, a)
}

// newTaskParameters are an object, or one as text; those that are absent are left out.
func newTaskParameters(v any) (given map[string]any, err error) {
	switch p := v.(type) {
	case nil:
	case map[string]any:
		given = maps.Clone(p)
	case string:
		if text := strings.TrimSpace(p); text != "" {
			if given, err = parseJSON([]byte(text)); err != nil {
				return nil, errors.New("new_parameters: is not a JSON object")
			}
		}
	default:
		return nil, fmt.Errorf("Type error: 'new_parameters' must be of type dict, got %s.", kindOf(p))
	}
	maps.DeleteFunc(given, func(_ string, v any) bool { return absent(v) })
	return given, nil
}

// changesOf makes changes of parameters; the error names every one that is wrong.
func changesOf(given map[string]any, st *site.Site, s *spec.Spec) (*spec.Changes, error) {
	t := &translation{left: maps.Clone(given), site: st, spec: spec.Spec{Queues: s.Queues}}
	said := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return given[name] != nil })
	}
	c := &spec.Changes{}
	if said("site", "includedSite", "excludedSite") { // before walltime, which they bound
		t.places()
		c.Queues = &t.spec.Queues
	}
	cores := max(s.Requirements.Cores, 1)
	if said("coreCount") {
		cores = max(int(t.whole("coreCount", 0)), 1)
		c.Cores = &cores
	}
	if said("ramCount") {
		c.MemoryMB = new(t.memory(max(cores, 1)))
	}
	if said("workDiskCount") {
		c.DiskMB = new(t.disk())
	}
	if said("walltime", "maxWalltime") {
		c.Walltime = new(t.walltime(cores))
	}
	if said("maxAttempt") {
		c.MaxAttempts = new(int(t.whole("maxAttempt", 1)))
	}
	if said("taskPriority") {
		c.Priority = new(int(t.whole("taskPriority", -1<<40)))
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(retryable, name) {
			t.fault(name, "a task keeps it; submit another one")
		}
	}
	if len(t.faults) > 0 {
		return nil, fmt.Errorf("%w: new_parameters: %s", spec.ErrInvalid, strings.Join(t.faults, "; "))
	}
	return c, nil
}
