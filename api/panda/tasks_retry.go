package panda

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/divvyhq/divvy/api/panda/taskspec"
	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/judge"
)

// tryAgain is JEDI's retry of a task: a task that a scout has stopped goes on, too.
func (s tasks) tryAgain(ctx context.Context, id int64) (generator.Change, error) {
	c, err := s.Steering.Say(ctx, generator.VerbRetry, id, nil)
	var refused *judge.StateError
	if errors.As(err, &refused) && refused.State == "exhausted" {
		return s.Steering.Say(ctx, generator.VerbAvalanche, id, nil)
	}
	return c, err
}

// retryTask tries again the pieces that did not finish, with new_parameters if there are any.
func (s tasks) retryTask(r *http.Request, a wire.Args) wire.Envelope {
	given, err := newTaskParameters(a["new_parameters"])
	switch {
	case err != nil:
		return wire.Bad("%s", err)
	case len(given) == 0:
		return s.doneToTask(generator.VerbRetry, s.tryAgain)(r, a)
	}
	return s.doneToTask(generator.VerbRetry, func(ctx context.Context, id int64) (generator.Change, error) {
		st, err := s.Site.Load(ctx)
		if err != nil {
			return generator.Change{}, err
		}
		t, err := s.Known.Task(ctx, id)
		if err != nil {
			return generator.Change{}, err
		}
		with, err := taskspec.ChangesOf(given, st, t.Spec)
		if err != nil {
			return generator.Change{}, err
		}
		return s.Steering.Say(ctx, generator.VerbRetry, id, with)
	})(r, a)
}

// newTaskParameters reads an object, or an object as text; absent parameters are left out.
func newTaskParameters(v any) (given map[string]any, err error) {
	switch p := v.(type) {
	case nil:
	case map[string]any:
		given = maps.Clone(p)
	case string:
		if text := strings.TrimSpace(p); text != "" {
			if given, err = wire.ParseJSON([]byte(text)); err != nil {
				return nil, errors.New("new_parameters: is not a JSON object")
			}
		}
	default:
		return nil, fmt.Errorf("Type error: 'new_parameters' must be of type dict, got %s.", wire.KindOf(p))
	}
	maps.DeleteFunc(given, func(_ string, v any) bool { return wire.Absent(v) })
	return given, nil
}
