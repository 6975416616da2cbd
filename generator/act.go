package generator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/generator/groups"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/tags"
	"github.com/divvyhq/divvy/generator/view"
)

// More that one can say to tasks, beside the verbs of the table.
const (
	VerbPrioritise Verb = "priority" // another priority, for its jobs too
	VerbReassign   Verb = "reassign" // another share
	VerbScale      Verb = "scale"    // more or fewer replicas or jobs, of tasks of groups
)

// Bounds of one Act: tasks, those of one transaction, and how long it goes on beginning with others.
const (
	actTasks  = 1000
	actBatch  = 100
	actWithin = 5 * time.Second
)

// Selection chooses tasks: those with the ids, or those that have all of the rest. Zero fields select nothing away.
type Selection struct {
	Tasks []int64  `json:"tasks,omitempty" maxItems:"1000" doc:"Ids of tasks; else all that the other fields select."`
	User  string   `json:"user,omitempty" doc:"Tasks of this user."`
	Label string   `json:"label,omitempty" doc:"Tasks of this label."`
	Share string   `json:"share,omitempty" doc:"Tasks of this share and those below it."`
	State []string `json:"state,omitempty" maxItems:"20" doc:"Tasks in one of these states; default: those in which there is something to do."`
	Name  string   `json:"name,omitempty" doc:"Tasks with this name; * stands for anything, ? for a letter."`
	After int64    `json:"after,omitempty" minimum:"0" doc:"Tasks with larger ids: the next of the answer before."`
}

// ActRequest says something to tasks.
type ActRequest struct {
	Verb Verb `json:"verb" enum:"kill,pause,resume,retry,finish,avalanche,priority,reassign,scale"`
	Selection
	DryRun   bool          `json:"dry_run,omitempty" doc:"Only say what would become of which task."`
	Priority *int          `json:"priority,omitempty" minimum:"-1000000000" maximum:"1000000000" doc:"With priority: the new one."`
	To       string        `json:"to,omitempty" doc:"With reassign: path of the leaf that they go to."`
	Running  bool          `json:"running,omitempty" doc:"With reassign: running jobs too."`
	With     *spec.Changes `json:"with,omitempty" doc:"With retry: what is other than before."`
	Scale    *spec.Scaling `json:"scale,omitempty" doc:"With scale: what of the tasks, and how many there are from now on."`
}

// Acted says what became of each task, by rising id.
type Acted struct {
	Verb    Verb        `json:"verb"`
	DryRun  bool        `json:"dry_run,omitempty"`
	To      string      `json:"to,omitempty" doc:"Of reassign: the share that they go to."`
	Tasks   []TaskActed `json:"tasks"`
	Changed int         `json:"changed" doc:"Tasks that changed, or would."`
	Next    int64       `json:"next,omitempty" doc:"There are more tasks: send the request again with this as after."`
}

// TaskActed says what became of one task: what changed, or why nothing did.
type TaskActed struct {
	Task       int64               `json:"task"`
	Name       string              `json:"name,omitempty"`
	User       string              `json:"user,omitempty"`
	Before     string              `json:"before,omitempty" doc:"State before."`
	After      string              `json:"after,omitempty" doc:"State now, or with dry_run what it would be."`
	Changed    bool                `json:"changed"`
	Why        string              `json:"why,omitempty" doc:"Why nothing changed, or not all."`
	Change     *Change             `json:"change,omitempty" doc:"Of kill, pause, resume, retry, finish and avalanche: jobs that it reached."`
	Priority   *PriorityChange     `json:"priority,omitempty" doc:"Of priority; with dry_run without the jobs."`
	Reassigned *TaskReassigned     `json:"reassigned,omitempty" doc:"Of reassign; with dry_run without the jobs."`
	Scaled     *groups.ScaleChange `json:"scaled,omitempty"`
}

// selected is a task as it was when it was selected.
type selected struct {
	ID          int64
	Name        string
	UserName    string
	State       string
	ResumeState string
	Priority    int
	Share       string
	Attributes  map[string]string
}

// Act says something to many tasks: verbs that need nothing but the table to a hundred in a transaction, others to one
// after the other. A task that does not exist, or
// whose state does not allow it, is no error: its line says so. It ends after some seconds: Next says where to go on.
// Errors: ErrInvalid, ErrNoSite, and those of the database; what was done before stays done.
func (g *Verbs) Act(ctx context.Context, r ActRequest) (Acted, error) {
	if err := r.check(); err != nil {
		return Acted{}, err
	}
	if r.DryRun && r.Verb == VerbReassign {
		st, err := g.cfg.Site(ctx)
		if err != nil {
			return Acted{}, fmt.Errorf("site: %w", err)
		}
		if _, err := tags.Leaf(st, r.To); err != nil {
			return Acted{}, err
		}
	}
	tasks, more, err := g.selected(ctx, r)
	if err != nil {
		return Acted{}, fmt.Errorf("select tasks: %w", err)
	}
	if len(tasks) == 0 {
		if err := g.tasks.KnownShare(ctx, r.Share); err != nil {
			return Acted{}, err
		}
	}
	out := Acted{Verb: r.Verb, DryRun: r.DryRun, To: r.To, Tasks: []TaskActed{}}
	began := time.Now()
	batch := 1
	if plain(r.Verb) && !r.DryRun {
		batch = actBatch
	}
	for some := range slices.Chunk(tasks, batch) {
		if len(out.Tasks) > 0 && time.Since(began) > actWithin {
			more = true
			break
		}
		done, err := g.actOn(ctx, r, some)
		if err != nil {
			return out, err
		}
		for _, one := range done {
			if out.Tasks = append(out.Tasks, one); one.Changed {
				out.Changed++
			}
		}
	}
	if more {
		out.Next = out.Tasks[len(out.Tasks)-1].Task
	}
	return out, nil
}

// check refuses what would be said to nobody or everybody by mistake.
func (r *ActRequest) check() error {
	var faults spec.Faults
	if _, known := next[r.Verb]; !known && r.Verb != VerbPrioritise && r.Verb != VerbReassign && r.Verb != VerbScale {
		faults.Add("verb", fmt.Sprintf("%q is not known", r.Verb), "kill, pause, resume, retry, finish, avalanche, priority, reassign or scale")
	}
	s := r.Selection
	chosen := s.User != "" || s.Label != "" || s.Share != "" || s.Name != "" || len(s.State) > 0
	switch {
	case len(s.Tasks) > actTasks:
		faults.Add("tasks", fmt.Sprintf("has %d ids, more than %d", len(s.Tasks), actTasks), "")
	case len(s.Tasks) > 0 && chosen:
		faults.Add("tasks", "given together with a choice of tasks", "either ids, or user, label, share, state and name")
	case len(s.Tasks) == 0 && !chosen:
		faults.Add("tasks", "nothing says which tasks", "ids, or one of user, label, share, state and name")
	}
	for _, state := range s.State {
		if !slices.Contains(judge.States, state) {
			faults.Add("state", fmt.Sprintf("%q is not known", state), strings.Join(judge.States, ", "))
		}
	}
	switch {
	case r.Verb == VerbPrioritise && r.Priority == nil:
		faults.Add("priority", "is missing", "the new priority")
	case r.Verb == VerbReassign && r.To == "":
		faults.Add("to", "is missing", "the path of the share that they go to")
	case r.Verb == VerbScale && r.Scale == nil:
		faults.Add("scale", "is missing", "what of the tasks, and how many")
	case r.Verb != VerbRetry && r.With != nil:
		faults.Add("with", "is for retry only", "")
	}
	return faults.Err()
}

// selected reads the tasks of a request by rising id; more says that there are others behind them. Ids that do not exist are
// among them, without a state.
func (g *Verbs) selected(ctx context.Context, r ActRequest) (tasks []selected, more bool, err error) {
	states := r.State
	if len(states) == 0 && len(r.Tasks) == 0 {
		states = workFor(r.Verb)
	}
	rows, err := g.cfg.Pool.Query(ctx, query["select_tasks"], pgx.StrictNamedArgs{"ids": append([]int64{}, r.Tasks...), "user": r.User,
		"label": r.Label, "share": r.Share, "states": append([]string{}, states...), "name": view.LikePattern(r.Name), "after": r.After,
		"limit": actTasks + 1})
	if err != nil {
		return nil, false, err
	}
	tasks, err = pgx.CollectRows(rows, pgx.RowToStructByName[selected])
	if err != nil {
		return nil, false, err
	}
	if more = len(tasks) > actTasks; more {
		tasks = tasks[:actTasks]
	}
	return tasks, more, nil
}

// workFor are the states in which a verb has something to do.
func workFor(verb Verb) (states []string) {
	table, known := next[verb]
	switch {
	case verb == VerbScale:
		return []string{"ready", "scouting", "running", "paused", "throttled", "exhausted"}
	case !known: // priority, reassign
		return []string{"submitting", "waiting", "ready", "scouting", "running", "paused", "throttled", "exhausted", "finishing"}
	}
	for state, after := range table {
		if after != same {
			states = append(states, state)
		}
	}
	return states
}

// actOn says it to tasks, or says what it would do: to all of them at once where the verb is plain.
func (g *Verbs) actOn(ctx context.Context, r ActRequest, tasks []selected) ([]TaskActed, error) {
	if plain(r.Verb) && !r.DryRun {
		return g.tellAll(ctx, r.Verb, tasks)
	}
	out := make([]TaskActed, len(tasks))
	for i, t := range tasks {
		done, err := g.actOnOne(ctx, r, t)
		if err != nil {
			return nil, fmt.Errorf("task %d: %w", t.ID, err)
		}
		out[i] = done
	}
	return out, nil
}

// tellAll says a plain verb to tasks.
func (g *Verbs) tellAll(ctx context.Context, verb Verb, tasks []selected) ([]TaskActed, error) {
	ids := make([]int64, len(tasks))
	for i, t := range tasks {
		ids[i] = t.ID
	}
	told, err := g.tell(ctx, verb, ids)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	out := make([]TaskActed, len(tasks))
	for i, t := range tasks {
		acted := t.acted()
		if told[i].refused == nil {
			acted.changed(told[i].Change)
		}
		if out[i], err = acted.judged(verb, told[i].refused); err != nil {
			return nil, fmt.Errorf("%s: task %d: %w", verb, t.ID, err)
		}
	}
	return out, nil
}

func (t *selected) acted() TaskActed {
	return TaskActed{Task: t.ID, Name: t.Name, User: t.UserName, Before: t.State, After: t.State}
}

// changed notes what a verb of the table changed.
func (a *TaskActed) changed(c Change) {
	a.Change, a.Before, a.After = &c, c.Before, c.After
	a.Changed = c.Before != c.After || c.Again > 0
}

// judged says why nothing changed, where that is no error of all.
func (a TaskActed) judged(verb Verb, err error) (TaskActed, error) {
	var refused *judge.StateError
	switch {
	case errors.As(err, &refused):
		a.Before, a.After, a.Why, err = refused.State, refused.State, refused.Error(), nil
	case errors.Is(err, view.ErrNoTask):
		a.Why, err = WhyNoTask, nil
	case errors.Is(err, tags.ErrUntagged), (verb == VerbRetry || verb == VerbScale) && errors.Is(err, spec.ErrInvalid):
		a.Why, err = err.Error(), nil
	case err == nil && !a.Changed && a.Why == "":
		a.Why = "nothing to do"
	}
	return a, err
}

// actOnOne says it to one task, or says what it would do.
func (g *Verbs) actOnOne(ctx context.Context, r ActRequest, t selected) (out TaskActed, err error) {
	out = t.acted()
	if t.State == "" {
		out.Why = WhyNoTask
		return out, nil
	}
	if r.DryRun {
		return g.rehearse(ctx, r, t, out)
	}
	switch r.Verb {
	case VerbPrioritise:
		var c PriorityChange
		if c, err = g.Prioritise(ctx, t.ID, *r.Priority); err == nil {
			out.Priority, out.Changed = &c, c.Before != c.After
		}
	case VerbReassign:
		var all Reassigned
		if all, err = g.Reassign(ctx, ReassignRequest{Share: r.To, Tasks: []int64{t.ID}, Running: r.Running}); err == nil {
			one := all.Tasks[0]
			out.Reassigned, out.Changed, out.Why = &one, one.Moved, one.Why
		}
	case VerbScale:
		var c groups.ScaleChange
		if c, err = g.Scale(ctx, t.ID, *r.Scale); err == nil {
			out.Scaled, out.Changed = &c, c.Before != c.After
		}
	default:
		var c Change
		if c, err = g.Say(ctx, r.Verb, t.ID, r.With); err == nil {
			out.changed(c)
		}
	}
	return out.judged(r.Verb, err)
}

// rehearse tells by the table what a verb would make of a task.
func (g *Verbs) rehearse(ctx context.Context, r ActRequest, t selected, out TaskActed) (TaskActed, error) {
	switch r.Verb {
	case VerbPrioritise:
		out.Changed = t.Priority != *r.Priority && t.State != "done" && t.State != "aborting" && t.State != "aborted"
		out.Priority = &PriorityChange{Task: t.ID, Before: t.Priority, After: *r.Priority}
	case VerbReassign:
		out.Changed = t.Share != r.To && !judge.Final(t.State)
		out.Reassigned = &TaskReassigned{Task: t.ID, From: t.Share, Moved: out.Changed}
	case VerbScale:
		n, err := g.scaled(ctx, t.ID, *r.Scale)
		out.Changed = err == nil && n != r.Scale.Replicas
		return out.judged(r.Verb, err)
	default:
		after, ok := next[r.Verb][t.State]
		switch {
		case !ok:
			out.Why = (&judge.StateError{Task: t.ID, Verb: string(r.Verb), State: t.State, Hint: refusals[r.Verb]}).Error()
			return out, nil
		case after == same:
		case after == resumed:
			out.After, out.Changed = t.ResumeState, true
		default:
			out.After, out.Changed = after, true
		}
		if out.Changed && (r.Verb == VerbResume || r.Verb == VerbRetry) {
			st, err := g.cfg.Site(ctx)
			if err != nil {
				return out, fmt.Errorf("site: %w", err)
			}
			if len(st.LimitsOf(t.UserName, t.Attributes["label"], t.Share)) > 0 {
				out.After = "throttled"
			}
		}
	}
	if !out.Changed {
		out.Why, out.Priority, out.Reassigned = "nothing to do", nil, nil
	}
	return out, nil
}
