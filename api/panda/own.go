package panda

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/divvyhq/divvy/api/panda/harvesters"
	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/harvester"
)

// notOf refuses a task or job of another user.
func notOf(ctx context.Context, what string, id int64) error {
	return wire.Forbid(fmt.Errorf("%s %d is not one of %s", what, id, wire.CallerOf(ctx)))
}

// forOperators refuses changes for all users to callers that are restricted to one user.
func forOperators(ctx context.Context, call string) error {
	if access.OnlyUser(ctx) == "" {
		return nil
	}
	return wire.Forbid(fmt.Errorf("%s needs the role operator or admin; this is %s", call, wire.CallerOf(ctx)))
}

// ownTasks restricts callers of one user to that user's tasks, as the native API restricts submitters. All calls
// about tasks go through ownTasks and ownSteering, so that no call can forget the restriction.
type ownTasks struct{ Known }

// Task returns a task that the caller may see.
func (o ownTasks) Task(ctx context.Context, id int64) (view.Task, error) {
	t, err := o.Known.Task(ctx, id)
	if user := access.OnlyUser(ctx); err == nil && user != "" && t.User != user {
		return view.Task{}, notOf(ctx, "task", id)
	}
	return t, err
}

// may refuses the task of another user. A task that does not exist is left to the caller.
func (o ownTasks) may(ctx context.Context, id int64) error {
	if access.OnlyUser(ctx) == "" {
		return nil
	}
	if _, err := o.Task(ctx, id); !errors.Is(err, view.ErrNoTask) {
		return err
	}
	return nil
}

// TasksByID finds tasks that the caller may see.
func (o ownTasks) TasksByID(ctx context.Context, ids []int64) ([]view.Task, error) {
	tasks, err := o.Known.TasksByID(ctx, ids)
	if user := access.OnlyUser(ctx); user != "" {
		tasks = slices.DeleteFunc(tasks, func(t view.Task) bool { return t.User != user })
	}
	return tasks, err
}

// Recent lists tasks that the caller may see.
func (o ownTasks) Recent(ctx context.Context, r view.Recent) ([]view.Task, error) {
	if user := access.OnlyUser(ctx); user != "" {
		r.User = user
	}
	return o.Known.Recent(ctx, r)
}

// ownSteering lets callers of one user steer that user's tasks only.
type ownSteering struct {
	Steering
	tasks ownTasks
}

// Say is the generator's, for tasks that the caller may steer.
func (o ownSteering) Say(ctx context.Context, verb generator.Verb, id int64, with *spec.Changes) (generator.Change, error) {
	if err := o.tasks.may(ctx, id); err != nil {
		return generator.Change{}, err
	}
	return o.Steering.Say(ctx, verb, id, with)
}

// Prioritise gives a task that the caller may steer another priority.
func (o ownSteering) Prioritise(ctx context.Context, id int64, priority int) (generator.PriorityChange, error) {
	if err := o.tasks.may(ctx, id); err != nil {
		return generator.PriorityChange{}, err
	}
	return o.Steering.Prioritise(ctx, id, priority)
}

// Reassign is not for submitters, as in the native API: they do not choose the share that work counts for.
func (o ownSteering) Reassign(ctx context.Context, r generator.ReassignRequest) (generator.Reassigned, error) {
	if err := forOperators(ctx, "reassign_global_share"); err != nil {
		return generator.Reassigned{}, err
	}
	return o.Steering.Reassign(ctx, r)
}

// ownJobs restricts callers of one user to the jobs of that user's tasks. If tasks is nil, no call shows or ends
// jobs.
type ownJobs struct {
	Jobs
	tasks Known
}

// mayTask refuses the task of another user. A task that does not exist has no jobs to show.
func (o ownJobs) mayTask(ctx context.Context, id int64) error {
	if access.OnlyUser(ctx) == "" {
		return nil
	}
	return ownTasks{o.tasks}.may(ctx, id)
}

// mayJobs refuses all jobs if one of them belongs to another user's task.
func (o ownJobs) mayJobs(ctx context.Context, rows []dispatcher.JobRow) error {
	if access.OnlyUser(ctx) == "" {
		return nil
	}
	var ids []int64
	for _, row := range rows {
		ids = append(ids, row.Task)
	}
	slices.Sort(ids)
	mine := map[int64]bool{}
	for page := range slices.Chunk(slices.Compact(ids), tasksPerPage) {
		tasks, err := ownTasks{o.tasks}.TasksByID(ctx, page)
		if err != nil {
			return err
		}
		for i := range tasks {
			mine[tasks[i].ID] = true
		}
	}
	for _, row := range rows {
		if !mine[row.Task] {
			return notOf(ctx, "job", row.ID)
		}
	}
	return nil
}

// JobsByID finds jobs that the caller may see.
func (o ownJobs) JobsByID(ctx context.Context, ids []int64) ([]dispatcher.JobRow, error) {
	rows, err := o.Jobs.JobsByID(ctx, ids)
	if err == nil {
		err = o.mayJobs(ctx, rows)
	}
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// JobIDs returns the ids of a task's jobs if the caller may see the task.
func (o ownJobs) JobIDs(ctx context.Context, c dispatcher.JobChoice) ([]int64, error) {
	if err := o.mayTask(ctx, c.Task); err != nil {
		return nil, err
	}
	return o.Jobs.JobIDs(ctx, c)
}

// Metadata returns payload reports of a task that the caller may see.
func (o ownJobs) Metadata(ctx context.Context, task, after int64, n int) ([]dispatcher.JobMetadata, error) {
	if err := o.mayTask(ctx, task); err != nil {
		return nil, err
	}
	return o.Jobs.Metadata(ctx, task, after, n)
}

// KillJobs cancels jobs that the caller may steer: all, or none if one belongs to another user.
func (o ownJobs) KillJobs(ctx context.Context, ids []int64) ([]int64, error) {
	if access.OnlyUser(ctx) != "" {
		if _, err := o.JobsByID(ctx, ids); err != nil {
			return nil, err
		}
	}
	return o.Jobs.KillJobs(ctx, ids)
}

// SetTargetSlots is not for submitters, since a queue serves all users.
func (o ownJobs) SetTargetSlots(ctx context.Context, t dispatcher.TargetSlots) error {
	if err := forOperators(ctx, "add_target_slots"); err != nil {
		return err
	}
	return o.Jobs.SetTargetSlots(ctx, t)
}

// ownWorkers keeps callers of one user from ending workers, which run jobs of all users.
type ownWorkers struct{ harvesters.Workers }

// Sweep is not for submitters.
func (o ownWorkers) Sweep(ctx context.Context, w harvester.Sweep) (int, error) {
	if err := forOperators(ctx, "add_sweep_command"); err != nil {
		return 0, err
	}
	return o.Workers.Sweep(ctx, w)
}

// bound is a configuration restricted to what its caller may see and steer.
func (s Config) bound() Config {
	if s.Jobs != nil {
		s.Jobs = ownJobs{s.Jobs, s.Known}
	}
	if s.Steering != nil {
		tasks := ownTasks{s.Known}
		s.Known, s.Steering = tasks, ownSteering{s.Steering, tasks}
	}
	if s.Workers != nil {
		s.Workers = ownWorkers{s.Workers}
	}
	return s
}
