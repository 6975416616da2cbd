package api

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/groups"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

// ownTasks restricts submitters to the tasks of their user, for the API and for the page.
type ownTasks struct{ everybodys }

// everybodys is Tasks under another name, since a type cannot have a method and a field of one name.
type everybodys = Tasks

// ownSubmissions lets submitters submit for their user only.
type ownSubmissions struct {
	Submissions
	tasks ownTasks
}

// ownSteering lets submitters steer the tasks of their user only.
type ownSteering struct {
	Steering
	tasks ownTasks
}

// may refuses the task of another user.
func (o ownTasks) may(ctx context.Context, id int64) error {
	if access.OnlyUser(ctx) == "" {
		return nil
	}
	_, err := o.Task(ctx, id)
	return err
}

// Task returns a task that the caller may see.
func (o ownTasks) Task(ctx context.Context, id int64) (view.Task, error) {
	t, err := o.everybodys.Task(ctx, id)
	if user := access.OnlyUser(ctx); err == nil && user != "" && t.User != user {
		return view.Task{}, fmt.Errorf("%w: task %d is not one of %s", problem.ErrNotYours, id, access.CallerIn(ctx))
	}
	return t, err
}

// Tasks lists the tasks that the caller may see.
func (o ownTasks) Tasks(ctx context.Context, f view.Filter) ([]view.Task, int64, error) {
	if user := access.OnlyUser(ctx); user != "" {
		f.User = user
	}
	return o.everybodys.Tasks(ctx, f)
}

// List lists the tasks that the caller may see.
func (o ownTasks) List(ctx context.Context, l view.Listing) (view.Listed, error) {
	if user := access.OnlyUser(ctx); user != "" {
		l.User = user
	}
	return o.everybodys.List(ctx, l)
}

// Submit makes a task of the caller's user.
func (o ownSubmissions) Submit(ctx context.Context, r generator.SubmitRequest) (view.Task, error) {
	if err := o.mine(ctx, &r.Spec); err != nil {
		return view.Task{}, err
	}
	return o.Submissions.Submit(ctx, r)
}

// SubmitMany makes tasks of the caller's user.
func (o ownSubmissions) SubmitMany(ctx context.Context, all []generator.SubmitRequest) ([]generator.Submitted, error) {
	for i := range all {
		if err := o.mine(ctx, &all[i].Spec); err != nil {
			return nil, fmt.Errorf("task %d of %d: %w", i+1, len(all), err)
		}
	}
	return o.Submissions.SubmitMany(ctx, all)
}

// Clone makes a task like one of the caller's user, for that user.
func (o ownSubmissions) Clone(ctx context.Context, r generator.CloneRequest) (view.Task, error) {
	if err := o.tasks.may(ctx, r.Task); err != nil {
		return view.Task{}, err
	}
	r.Check = o.mine
	return o.Submissions.Clone(ctx, r)
}

// mine turns a request into one of the caller's user. The task may not need tasks of others, since it would see their
// names and outputs.
func (o ownSubmissions) mine(ctx context.Context, s *spec.Spec) error {
	user := access.OnlyUser(ctx)
	if user == "" {
		return nil
	}
	s.User = user
	for i, n := range s.Needs {
		if err := o.tasks.may(ctx, n.Task); err != nil && !errors.Is(err, view.ErrNoTask) { // reading the task reports it
			return fmt.Errorf("needs[%d].task: %w", i, err)
		}
	}
	return nil
}

// Act applies a verb to tasks of the caller's user only; for the caller, tasks of others do not exist.
func (o ownSteering) Act(ctx context.Context, r generator.ActRequest) (generator.Acted, error) {
	user := access.OnlyUser(ctx)
	if user == "" {
		return o.Steering.Act(ctx, r)
	}
	if r.Verb == generator.VerbReassign {
		return generator.Acted{}, fmt.Errorf("%w: reassign needs a token with the role operator or admin; this is %s", problem.ErrNotYours, access.CallerIn(ctx))
	}
	for _, id := range r.Selection.Tasks {
		if err := o.tasks.may(ctx, id); err != nil && !errors.Is(err, view.ErrNoTask) { // the answer reports it for the task
			return generator.Acted{}, err
		}
	}
	if len(r.Selection.Tasks) == 0 {
		r.User = user
	}
	return o.Steering.Act(ctx, r)
}

// own applies a verb to one task that the caller may steer.
func own[T any](ctx context.Context, o ownTasks, id int64, verb func() (T, error)) (T, error) {
	if err := o.may(ctx, id); err != nil {
		return *new(T), err
	}
	return verb()
}

// AddInputs and the methods below are the generator's, for tasks that the caller may steer.
func (o ownSubmissions) AddInputs(ctx context.Context, id, offset int64, lines io.Reader) (int64, error) {
	return own(ctx, o.tasks, id, func() (int64, error) { return o.Submissions.AddInputs(ctx, id, offset, lines) })
}

// Commit publishes a task.
func (o ownSubmissions) Commit(ctx context.Context, id int64) (view.Task, error) {
	return own(ctx, o.tasks, id, func() (view.Task, error) { return o.Submissions.Commit(ctx, id) })
}

func (o ownSteering) Say(ctx context.Context, verb generator.Verb, id int64, with *spec.Changes) (generator.Change, error) {
	return own(ctx, o.tasks, id, func() (generator.Change, error) { return o.Steering.Say(ctx, verb, id, with) })
}

func (o ownSteering) Prioritise(ctx context.Context, id int64, priority int) (generator.PriorityChange, error) {
	return own(ctx, o.tasks, id, func() (generator.PriorityChange, error) { return o.Steering.Prioritise(ctx, id, priority) })
}

// Scale changes how many replicas a task has.
func (o ownSteering) Scale(ctx context.Context, id int64, to spec.Scaling) (groups.ScaleChange, error) {
	return own(ctx, o.tasks, id, func() (groups.ScaleChange, error) { return o.Steering.Scale(ctx, id, to) })
}

// ownJobs restricts submitters to the jobs of their user's tasks.
type ownJobs struct {
	Dispatcher
	tasks Tasks // an ownTasks
}

// Job returns a job that the caller may see.
func (o ownJobs) Job(ctx context.Context, id int64) (dispatcher.JobRow, error) {
	j, err := o.Dispatcher.Job(ctx, id)
	if err == nil && access.OnlyUser(ctx) != "" {
		if _, err = o.tasks.Task(ctx, j.Task); err != nil {
			return dispatcher.JobRow{}, err
		}
	}
	return j, err
}

// Jobs lists jobs of all tasks, which a submitter may not.
func (o ownJobs) Jobs(ctx context.Context, f dispatcher.JobFilter) ([]dispatcher.JobRow, error) {
	if err := o.mayTask(ctx, 0); err != nil {
		return nil, err
	}
	return o.Dispatcher.Jobs(ctx, f)
}

func (o ownJobs) mayTask(ctx context.Context, task int64) error {
	if access.OnlyUser(ctx) == "" {
		return nil
	}
	if task == 0 {
		return fmt.Errorf("%w: %s sees jobs of its own tasks: name one, task=ID", problem.ErrNotYours, access.CallerIn(ctx))
	}
	_, err := o.tasks.Task(ctx, task)
	return err
}

// TaskJobs lists jobs of a task that the caller may see.
func (o ownJobs) TaskJobs(ctx context.Context, f dispatcher.JobFilter) ([]dispatcher.JobRow, int64, error) {
	if err := o.mayTask(ctx, f.Task); err != nil {
		return nil, 0, err
	}
	return o.Dispatcher.TaskJobs(ctx, f)
}

// LeasedJobs lists the leased jobs that the caller may see.
func (o ownJobs) LeasedJobs(ctx context.Context, f dispatcher.JobFilter) ([]dispatcher.JobRow, int64, error) {
	if user := access.OnlyUser(ctx); user != "" {
		f.User = user
	}
	return o.Dispatcher.LeasedJobs(ctx, f)
}

// JobLog returns the end of an attempt's output, if the caller may see the job.
func (o ownJobs) JobLog(ctx context.Context, id int64, attempt int) (string, error) {
	if err := mayJob(ctx, o, id); err != nil {
		return "", err
	}
	return o.Dispatcher.JobLog(ctx, id, attempt)
}

// KillJob cancels a job that the caller may steer.
func (o ownJobs) KillJob(ctx context.Context, id int64) (state string, err error) {
	if err := mayJob(ctx, o, id); err != nil {
		return "", err
	}
	return o.Dispatcher.KillJob(ctx, id)
}

// mayJob refuses the job of another user's task, before the leader is asked about it.
func mayJob(ctx context.Context, d Dispatcher, id int64) error {
	if access.OnlyUser(ctx) == "" {
		return nil
	}
	_, err := d.Job(ctx, id)
	return err
}

// ownSite restricts share owners to the weights below their node, and records with each change who made it.
type ownSite struct{ Site }

// whose returns the name to record with a change: the caller's, or the stated one if callers need no credential.
func whose(ctx context.Context, said string) string {
	if c := access.CallerIn(ctx); c != nil && c != access.Anybody {
		return c.Name
	}
	return said
}

// Apply puts a file in force that changes no more than the caller may.
func (o ownSite) Apply(ctx context.Context, r site.ApplyRequest) (site.Applied, error) {
	r.By = whose(ctx, r.By)
	c := access.CallerIn(ctx)
	if c == nil {
		return o.Site.Apply(ctx, r)
	}
	if c.Role == access.ShareOwner && !r.DryRun {
		if len(r.Moves) > 0 {
			return site.Applied{}, fmt.Errorf("%w: %s moves no work to other shares", problem.ErrNotYours, c)
		}
		r.Check = func(ch site.Changes) error { return onlyWeights(c, ch) }
	}
	return o.Site.Apply(ctx, r)
}

// onlyWeights refuses every change but of weights below the caller's node, and names the first.
func onlyWeights(c *access.Caller, ch site.Changes) error {
	for _, s := range ch.Shares {
		if s.Kind != shares.Changed || s.Field != "weight" || !c.Owns(s.Path) {
			return fmt.Errorf("%w: %s changes weights below %s only, and the file has: %s", problem.ErrNotYours, c, c.Share, s)
		}
	}
	if ch.Shares = nil; !ch.None() {
		return fmt.Errorf("%w: %s changes weights below %s only, and the file changes queues, rules, resources or limits too", problem.ErrNotYours, c, c.Share)
	}
	return nil
}

// Rollback records the caller.
func (o ownSite) Rollback(ctx context.Context, r site.RollbackRequest) (site.Applied, error) {
	r.By = whose(ctx, r.By)
	return o.Site.Rollback(ctx, r)
}

// ApplyLater records the caller, for the version too.
func (o ownSite) ApplyLater(ctx context.Context, r site.LaterRequest) (site.Later, error) {
	r.By = whose(ctx, r.By)
	return o.Site.ApplyLater(ctx, r)
}

// CancelLater records the caller.
func (o ownSite) CancelLater(ctx context.Context, id int64, by string) (site.Later, error) {
	return o.Site.CancelLater(ctx, id, whose(ctx, by))
}

// SetResourceCapacity records the caller.
func (o ownSite) SetResourceCapacity(ctx context.Context, c site.SetCapacity) error {
	c.By = whose(ctx, c.By)
	return o.Site.SetResourceCapacity(ctx, c)
}
