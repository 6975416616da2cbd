package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/generator/spec"
)

// Bounds of one request of many tasks: how many, and about how many bytes.
const (
	batchTasks = 500
	batchBytes = 4 << 20
)

// numbered is the idempotency key of document i of a submission.
func numbered(key string, i int) string { return fmt.Sprintf("%s-%d", key, i+1) }

// document is a task of a file; at is its place there.
type document struct {
	spec.Spec
	at int
}

// batches submits the specs in this order: those whose inputs are in a file, and those that name others of the file, one by
// one, the others many at a time. It returns the tasks that there are, also when it ends early: with the first that cannot be,
// after those of its batch that can.
func (s *submission) batches(ctx context.Context, specs []spec.Spec, order []int) (tasks []wire.Task, err error) {
	docs := make([]document, len(order))
	for i, at := range order {
		docs[i] = document{specs[at], at}
	}
	ids := map[string]int64{}
	for len(docs) > 0 {
		n := inOneRequest(docs)
		var some []wire.Task
		if n == 0 {
			n = 1
			t, err := s.one(ctx, docs[0].Bound(ids), numbered(s.key, docs[0].at))
			if err != nil {
				return tasks, fmt.Errorf("task %s: %w", docs[0].Name, err)
			}
			some = []wire.Task{t}
		} else {
			some, err = s.many(ctx, docs[:n])
		}
		tasks = append(tasks, some...)
		for _, t := range some {
			ids[t.Name] = t.ID
		}
		if err != nil {
			return tasks, err
		}
		docs = docs[n:]
	}
	return tasks, nil
}

// inOneRequest is how many of the next tasks go into one request; 0 where the first one cannot, or is alone.
func inOneRequest(docs []document) (n int) {
	bytes := 0
	for n < min(len(docs), batchTasks) && docs[n].InputsFile == "" && len(docs[n].Needs) == 0 {
		body, err := json.Marshal(docs[n].Spec)
		if err != nil {
			return n
		}
		if bytes += len(body); bytes > batchBytes {
			break
		}
		n++
	}
	if n == 1 {
		return 0
	}
	return n
}

func (s *submission) many(ctx context.Context, docs []document) (tasks []wire.Task, err error) {
	all := make([]wire.KeyedTask, len(docs))
	for i, d := range docs {
		all[i] = wire.KeyedTask{Key: numbered(s.key, d.at), Task: ServerSpec(d.Spec), Strict: s.strict}
	}
	out, err := s.cl.Tasks().SubmitMany(ctx, all)
	if err != nil {
		return nil, fmt.Errorf("tasks %s to %s: %w", docs[0].Name, docs[len(docs)-1].Name, err)
	}
	var errs []error
	for i, one := range out {
		switch {
		case one.Task != nil:
			tasks = append(tasks, *one.Task)
		case one.Problem != nil && len(errs) < mostProblems:
			errs = append(errs, fmt.Errorf("task %s: %w", docs[i].Name, one.Problem))
		}
	}
	return tasks, errors.Join(errs...)
}

// mostProblems of one request are said: the others are likely to be the same.
const mostProblems = 10
