package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"iter"
	"net/http"
	"strings"

	"github.com/divvyhq/divvy/api/wire"
)

// Tasks submits tasks and steers them.
type Tasks struct{ c *Client }

// Tasks are the calls about tasks.
func (c *Client) Tasks() Tasks { return Tasks{c} }

const tasksPath = "/v1/tasks"

func taskPath(id int64, rest string) string { return under(tasksPath, id, rest) }

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

// Submit creates a task. A key makes a repeat by the caller get the same task; empty, one is made for this call.
func (t Tasks) Submit(ctx context.Context, spec wire.TaskSpec, key string) (wire.Task, error) {
	return t.create(ctx, tasksPath, spec, key)
}

// Clone creates a task like another one; changes are part of a task, as JSON. A key is as in Submit.
func (t Tasks) Clone(ctx context.Context, id int64, changes json.RawMessage, key string) (wire.Task, error) {
	return t.create(ctx, taskPath(id, "/clone"), wire.CloneChanges{Changes: changes}, key)
}

func (t Tasks) create(ctx context.Context, path string, body any, key string) (wire.Task, error) {
	if key == "" {
		key = rand.Text()
	}
	return send[wire.Task](ctx, t.c, call{method: http.MethodPost, path: path, body: body, repeat: true, header: http.Header{"Idempotency-Key": {key}}})
}

// SubmitMany creates many tasks at once, each under its key, so that a repeat creates none twice. What became of each is in
// the order of tasks: a task that cannot be has its problem, and keeps no other from being.
func (t Tasks) SubmitMany(ctx context.Context, tasks []wire.KeyedTask) ([]wire.OneSubmitted, error) {
	out, err := post[wire.ManySubmitted](ctx, t.c, tasksPath+"/batch", wire.ManyTasks{Tasks: tasks})
	return out.Tasks, err
}

// Act says one thing to many tasks. While Next is not 0 the same request with it as After goes on.
func (t Tasks) Act(ctx context.Context, r wire.ActRequest) (wire.Acted, error) {
	return send[wire.Acted](ctx, t.c, call{method: http.MethodPost, path: tasksPath + "/actions", body: r, repeat: r.Verb != wire.VerbRetry})
}

// ActOnAll is Act until no task is left.
func (t Tasks) ActOnAll(ctx context.Context, r wire.ActRequest) (wire.Acted, error) {
	out, err := t.Act(ctx, r)
	for err == nil && out.Next != 0 {
		var more wire.Acted
		r.After = out.Next
		more, err = t.Act(ctx, r)
		out.Tasks, out.Changed, out.Next = append(out.Tasks, more.Tasks...), out.Changed+more.Changed, more.Next
	}
	return out, err
}

// Get shows a task.
func (t Tasks) Get(ctx context.Context, id int64) (wire.Task, error) {
	return get[wire.Task](ctx, t.c, taskPath(id, ""), nil)
}

// List lists one page of tasks, by id.
func (t Tasks) List(ctx context.Context, f TaskFilter) (wire.Page[wire.Task], error) {
	q := params("user", f.User, "state", strings.Join(f.State, ","), "share", f.Share, "label", f.Label, "limit", number(f.Limit), "after", f.After)
	if f.Newest {
		q.Set("order", "newest")
	}
	return get[wire.Page[wire.Task]](ctx, t.c, tasksPath, q)
}

// All goes through all pages.
func (t Tasks) All(ctx context.Context, f TaskFilter) iter.Seq2[wire.Task, error] {
	return all(f.After, func(after string) (wire.Page[wire.Task], error) {
		f.After = after
		return t.List(ctx, f)
	})
}

// Commit publishes a task whose inputs were sent.
func (t Tasks) Commit(ctx context.Context, id int64) (wire.Task, error) {
	return post[wire.Task](ctx, t.c, taskPath(id, "/commit"), nil)
}

// Kill ends a task and its jobs.
func (t Tasks) Kill(ctx context.Context, id int64) (wire.TaskChange, error) {
	return post[wire.TaskChange](ctx, t.c, taskPath(id, "/kill"), nil)
}

// Pause starts no more jobs of a task.
func (t Tasks) Pause(ctx context.Context, id int64) (wire.TaskChange, error) {
	return post[wire.TaskChange](ctx, t.c, taskPath(id, "/pause"), nil)
}

// Resume lets a paused task go on.
func (t Tasks) Resume(ctx context.Context, id int64) (wire.TaskChange, error) {
	return post[wire.TaskChange](ctx, t.c, taskPath(id, "/resume"), nil)
}

// Finish lets what runs end, and drops the rest.
func (t Tasks) Finish(ctx context.Context, id int64) (wire.TaskChange, error) {
	return post[wire.TaskChange](ctx, t.c, taskPath(id, "/finish"), nil)
}

// Avalanche ends the scouting of a task.
func (t Tasks) Avalanche(ctx context.Context, id int64) (wire.TaskChange, error) {
	return post[wire.TaskChange](ctx, t.c, taskPath(id, "/avalanche"), nil)
}

// Retry makes new jobs for the pieces of a task that did not finish, with other requirements if there are any. It is not repeated.
func (t Tasks) Retry(ctx context.Context, id int64, with *wire.Changes) (wire.TaskChange, error) {
	k := call{method: http.MethodPost, path: taskPath(id, "/retry")}
	if with != nil {
		k.body = with
	}
	return send[wire.TaskChange](ctx, t.c, k)
}

// Prioritise gives a task and its jobs another priority.
func (t Tasks) Prioritise(ctx context.Context, id int64, priority int) (wire.PriorityChange, error) {
	return post[wire.PriorityChange](ctx, t.c, taskPath(id, "/priority"), map[string]int{"priority": priority})
}

// Scale changes how many replicas or jobs a task of groups has.
func (t Tasks) Scale(ctx context.Context, id int64, to wire.Scaling) (wire.ScaleChange, error) {
	return post[wire.ScaleChange](ctx, t.c, taskPath(id, "/scale"), to)
}

// Reassign gives tasks to another share. While More is true the same request goes on where it ended; a repeat of what
// is done changes nothing.
func (t Tasks) Reassign(ctx context.Context, r wire.ReassignRequest) (wire.Reassigned, error) {
	return post[wire.Reassigned](ctx, t.c, tasksPath+"/reassign", r)
}

// Explain says why no more of a task runs.
func (t Tasks) Explain(ctx context.Context, id int64) (wire.TaskExplanation, error) {
	return get[wire.TaskExplanation](ctx, t.c, taskPath(id, "/explain"), nil)
}

// Queues says where each kind of jobs of a task may run.
func (t Tasks) Queues(ctx context.Context, id int64) ([]wire.KindQueues, error) {
	return items[wire.KindQueues](ctx, t.c, taskPath(id, "/queues"), nil)
}
