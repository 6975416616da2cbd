package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/divvyhq/divvy/api"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/spec"
)

// Shapes of tasks and jobs.
type (
	TaskSpec   = spec.Spec
	Task       = generator.Task
	TaskChange = generator.Change

	PriorityChange = generator.PriorityChange

	Scaling  = spec.Scaling
	TaskNeed = generator.NeedState

	TaskDeadline = generator.DeadlineState
	ScaleChange  = generator.ScaleChange

	ReassignRequest = generator.ReassignRequest
	Reassigned      = generator.Reassigned

	TaskChanges = spec.Changes
	ActRequest  = generator.ActRequest
	Acted       = generator.Acted
	TaskActed   = generator.TaskActed

	KeyedTask    = api.KeyedTask
	OneSubmitted = api.OneSubmitted

	Job    = dispatcher.JobRow
	Log    = api.Log
	Killed = api.Killed
)

// Page is one page of a list.
type Page[T any] = api.Page[T]

// TaskFilter selects tasks; zero fields select nothing away.
type TaskFilter struct {
	User  string
	State []string // one of these; none = any
	Share string   // this one and those below it
	Label string
	// Newest has those that are not over first, each half the newest first; else they come by rising id.
	Newest bool
	Limit  int    // 0 = 100
	After  string // the Next of the page before
}

// JobFilter selects jobs; zero fields select nothing away.
type JobFilter struct {
	Task  int64
	User  string
	Share string // this one and those below it
	Queue string
	State string
	Limit int
	After string
}

// Submit creates a task. A key makes a repeat by the caller get the same task; empty, one is made for this call.
func (c *Client) Submit(ctx context.Context, s TaskSpec, key string) (Task, error) {
	if key == "" {
		key = rand.Text()
	}
	return get[Task](ctx, c, call{
		method: http.MethodPost, path: "/v1/tasks", body: s, repeat: true,
		header: http.Header{"Idempotency-Key": {key}},
	})
}

// SubmitMany creates many tasks at once, each under its key, so that a repeat creates none twice. What became of each is in
// the order of tasks: a task that cannot be has its problem, and keeps no other from being.
func (c *Client) SubmitMany(ctx context.Context, tasks []KeyedTask) ([]OneSubmitted, error) {
	out, err := get[api.ManySubmitted](ctx, c, call{method: http.MethodPost, path: "/v1/tasks/batch", body: api.ManyTasks{Tasks: tasks}, repeat: true})
	return out.Tasks, err
}

// Clone creates a task like another one; changes are part of a task, as JSON. A key is as in Submit.
func (c *Client) Clone(ctx context.Context, id int64, changes json.RawMessage, key string) (Task, error) {
	if key == "" {
		key = rand.Text()
	}
	return get[Task](ctx, c, call{method: http.MethodPost, path: taskPath(id, "/clone"), body: api.CloneChanges{Changes: changes}, repeat: true,
		header: http.Header{"Idempotency-Key": {key}}})
}

// Act says one thing to many tasks. While Next is not 0 the same request with it as After goes on.
func (c *Client) Act(ctx context.Context, r ActRequest) (Acted, error) {
	return get[Acted](ctx, c, call{method: http.MethodPost, path: "/v1/tasks/actions", body: r, repeat: r.Verb != generator.VerbRetry})
}

// ActOnAll is Act until nobody is left.
func (c *Client) ActOnAll(ctx context.Context, r ActRequest) (Acted, error) {
	out, err := c.Act(ctx, r)
	for err == nil && out.Next != 0 {
		var more Acted
		r.After = out.Next
		more, err = c.Act(ctx, r)
		out.Tasks, out.Changed, out.Next = append(out.Tasks, more.Tasks...), out.Changed+more.Changed, more.Next
	}
	return out, err
}

// Task shows a task.
func (c *Client) Task(ctx context.Context, id int64) (Task, error) {
	return get[Task](ctx, c, call{method: http.MethodGet, path: taskPath(id, ""), repeat: true})
}

// Tasks lists one page of tasks, by id.
func (c *Client) Tasks(ctx context.Context, f TaskFilter) (Page[Task], error) {
	q := query{}
	q.set("user", f.User)
	q.set("state", strings.Join(f.State, ","))
	q.set("share", f.Share)
	q.set("label", f.Label)
	if f.Newest {
		q.set("order", "newest")
	}
	q.page(f.Limit, f.After)
	return get[Page[Task]](ctx, c, call{method: http.MethodGet, path: "/v1/tasks", query: url.Values(q), repeat: true})
}

// AllTasks goes through all pages.
func (c *Client) AllTasks(ctx context.Context, f TaskFilter) iter.Seq2[Task, error] {
	return all(f.After, func(after string) (Page[Task], error) {
		f.After = after
		return c.Tasks(ctx, f)
	})
}

// Commit publishes a task whose inputs were sent.
func (c *Client) Commit(ctx context.Context, id int64) (Task, error) {
	return get[Task](ctx, c, call{method: http.MethodPost, path: taskPath(id, "/commit"), repeat: true})
}

// Kill ends a task and its jobs.
func (c *Client) Kill(ctx context.Context, id int64) (TaskChange, error) {
	return c.verb(ctx, id, "/kill", true)
}

// Pause starts no more jobs of a task.
func (c *Client) Pause(ctx context.Context, id int64) (TaskChange, error) {
	return c.verb(ctx, id, "/pause", true)
}

// Resume lets a paused task go on.
func (c *Client) Resume(ctx context.Context, id int64) (TaskChange, error) {
	return c.verb(ctx, id, "/resume", true)
}

// Retry makes new jobs for the pieces of a task that did not finish.
func (c *Client) Retry(ctx context.Context, id int64) (TaskChange, error) {
	return c.verb(ctx, id, "/retry", false)
}

// RetryWith is Retry with other requirements.
func (c *Client) RetryWith(ctx context.Context, id int64, with TaskChanges) (TaskChange, error) {
	return get[TaskChange](ctx, c, call{method: http.MethodPost, path: taskPath(id, "/retry"), body: with})
}

// Prioritise gives a task and its jobs another priority.
func (c *Client) Prioritise(ctx context.Context, id int64, priority int) (PriorityChange, error) {
	body := struct {
		Priority int `json:"priority"`
	}{priority}
	return get[PriorityChange](ctx, c, call{method: http.MethodPost, path: taskPath(id, "/priority"), body: body, repeat: true})
}

// Scale changes how many replicas or jobs a task of groups has.
func (c *Client) Scale(ctx context.Context, id int64, to Scaling) (ScaleChange, error) {
	return get[ScaleChange](ctx, c, call{method: http.MethodPost, path: taskPath(id, "/scale"), body: to, repeat: true})
}

// Reassign gives tasks to another share. While More is true the same request goes on where it ended; a repeat of what
// is done changes nothing.
func (c *Client) Reassign(ctx context.Context, r ReassignRequest) (Reassigned, error) {
	return get[Reassigned](ctx, c, call{method: http.MethodPost, path: "/v1/tasks/reassign", body: r, repeat: true})
}

// FinishTask lets what runs end, and drops the rest.
func (c *Client) FinishTask(ctx context.Context, id int64) (TaskChange, error) {
	return c.verb(ctx, id, "/finish", true)
}

// Avalanche ends the scouting of a task.
func (c *Client) Avalanche(ctx context.Context, id int64) (TaskChange, error) {
	return c.verb(ctx, id, "/avalanche", true)
}

func (c *Client) verb(ctx context.Context, id int64, verb string, repeat bool) (TaskChange, error) {
	return get[TaskChange](ctx, c, call{method: http.MethodPost, path: taskPath(id, verb), repeat: repeat})
}

func taskPath(id int64, rest string) string { return fmt.Sprintf("/v1/tasks/%d%s", id, rest) }

// Jobs lists one page of jobs, by id.
func (c *Client) Jobs(ctx context.Context, f JobFilter) (Page[Job], error) {
	q := query{}
	q.number("task", f.Task)
	q.set("user", f.User)
	q.set("share", f.Share)
	q.set("queue", f.Queue)
	q.set("state", f.State)
	q.page(f.Limit, f.After)
	return get[Page[Job]](ctx, c, call{method: http.MethodGet, path: "/v1/jobs", query: url.Values(q), repeat: true})
}

// AllJobs goes through all pages.
func (c *Client) AllJobs(ctx context.Context, f JobFilter) iter.Seq2[Job, error] {
	return all(f.After, func(after string) (Page[Job], error) {
		f.After = after
		return c.Jobs(ctx, f)
	})
}

// Job shows a job with its attempts.
func (c *Client) Job(ctx context.Context, id int64) (Job, error) {
	return get[Job](ctx, c, call{method: http.MethodGet, path: jobPath(id, ""), repeat: true})
}

// JobLog is the end of an attempt's output; attempt 0 = the last one.
func (c *Client) JobLog(ctx context.Context, id int64, attempt int) (Log, error) {
	q := query{}
	q.number("attempt", int64(attempt))
	return get[Log](ctx, c, call{method: http.MethodGet, path: jobPath(id, "/log"), query: url.Values(q), repeat: true})
}

// KillJob cancels one job.
func (c *Client) KillJob(ctx context.Context, id int64) (Killed, error) {
	return get[Killed](ctx, c, call{method: http.MethodPost, path: jobPath(id, "/kill"), repeat: true})
}

func jobPath(id int64, rest string) string { return fmt.Sprintf("/v1/jobs/%d%s", id, rest) }

// query leaves out what is not set.
type query url.Values

func (q query) set(name, value string) {
	if value != "" {
		url.Values(q).Set(name, value)
	}
}

func (q query) number(name string, n int64) {
	if n != 0 {
		url.Values(q).Set(name, strconv.FormatInt(n, 10))
	}
}

func (q query) time(name string, t time.Time) {
	if !t.IsZero() {
		url.Values(q).Set(name, t.UTC().Format(time.RFC3339Nano))
	}
}

func (q query) flag(name string, on bool) {
	if on {
		url.Values(q).Set(name, "true")
	}
}

func (q query) page(limit int, after string) {
	q.number("limit", int64(limit))
	q.set("after", after)
}

// all goes on from page to page until the last one, an error, or the end of the caller's patience.
func all[T any](after string, load func(after string) (Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			p, err := load(after)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range p.Items {
				if !yield(item, nil) {
					return
				}
			}
			if p.Next == "" {
				return
			}
			after = p.Next
		}
	}
}
