package web

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/view"
)

// TaskPage is a task: how far it is, where its jobs may run, and a page of them.
type TaskPage struct {
	AsOf
	Task   view.Task               `json:"task"`
	Moves  []Moment                `json:"timeline"`
	Places []dispatcher.KindQueues `json:"queues"` // where the jobs of each kind may run
	Jobs   []dispatcher.JobRow     `json:"jobs"`
	Next   string                  `json:"next"`   // after of the next page of jobs
	Tagged string                  `json:"tagged"` // how it got its share, in words
	Asked  asked                   `json:"-"`
}

// Moment is a point of a time line.
type Moment struct {
	At   time.Time `json:"at"`
	What string    `json:"what"`
	Kind string    `json:"kind"`           // a state, for the colour
	Open bool      `json:"open,omitempty"` // not yet: it is to be
	Took string    `json:"took,omitempty"` // since the one before
}

// Heading is the task's name.
func (t TaskPage) Heading() string { return fmt.Sprintf("Task %d: %s", t.Task.ID, t.Task.Name) }

var jobStates = []string{"waiting", "ready", "leased", "finished", "failed", "cancelled"}

const jobsOfPage = 50

func (w *work) taskPage(ctx context.Context, r *Request) (Dated, error) {
	id, err := r.id("task")
	if err != nil {
		return nil, err
	}
	a := askedOf(r)
	a.oneOf("state", jobStates...)
	after := a.number("after", 0, mostID, 0)
	if err := a.err(); err != nil {
		return nil, err
	}
	out := TaskPage{AsOf: Now(), Asked: a, Jobs: []dispatcher.JobRow{}, Places: []dispatcher.KindQueues{}}
	if out.Task, err = w.tasks.Task(ctx, id); err != nil {
		return nil, err
	}
	out.Moves, out.Tagged = taskMoves(out.Task), w.taggedSays(ctx, out.Task)
	if !isOver(out.Task.State) {
		if out.Places, err = w.placesOf(ctx, id); err != nil {
			return nil, err
		}
	}
	jobs, next, err := w.dispatcher.TaskJobs(ctx, dispatcher.JobFilter{Task: id, State: a.Get("state"), After: after, Limit: jobsOfPage})
	if err != nil {
		return nil, err
	}
	if out.Jobs = append(out.Jobs, jobs...); next > 0 {
		out.Next = strconv.FormatInt(next, 10)
	}
	return out, nil
}

// placesOf is where the jobs of a task may run, looked up every some seconds however many look.
func (w *work) placesOf(ctx context.Context, task int64) ([]dispatcher.KindQueues, error) {
	return w.places.get(task, func() ([]dispatcher.KindQueues, error) { return w.dispatcher.TaskQueues(ctx, task) })
}

// id is the number in a path.
func (r *Request) id(name string) (int64, error) {
	id, err := strconv.ParseInt(r.Param(name), 10, 64)
	if err != nil || id < 1 {
		return 0, fmt.Errorf("%w: %q is no id of a %s: a number from 1", ErrNoPage, r.Param(name), name)
	}
	return id, nil
}

// taskMoves is the life of a task so far.
func taskMoves(t view.Task) (all []Moment) {
	add := func(at *time.Time, what, kind string) {
		if at != nil {
			all = append(all, Moment{At: *at, What: what, Kind: kind})
		}
	}
	add(&t.CreatedAt, "submitted by "+t.User, "submitting")
	add(t.CommittedAt, "its work is known", "ready")
	add(t.StartedAt, "first job started", "running")
	add(t.EndedAt, t.State, t.State)
	if d := t.Deadline; d != nil && t.EndedAt == nil {
		all = append(all, Moment{At: d.At, What: "deadline", Kind: "late-" + d.LateRisk, Open: d.LateRisk != "late"})
		if d.ETA != nil {
			all = append(all, Moment{At: *d.ETA, What: "likely over", Kind: "eta", Open: true})
		}
	}
	return timed(all)
}

// timed puts moments into their order, and says how long each came after the one before.
func timed(all []Moment) []Moment {
	slices.SortStableFunc(all, func(a, b Moment) int { return a.At.Compare(b.At) })
	for i := range all {
		if i > 0 {
			all[i].Took = span(all[i].At.Sub(all[i-1].At))
		}
	}
	return all
}

// Line is the task as a list has it.
func (t TaskPage) Line() TaskLine { return TaskLine{t.Task} }

// SharedReason is why several jobs of a page are where they are.
type SharedReason struct {
	Reason string
	N      int
}

// Shared are the reasons that are too long for a row and that more than one job of the page has, each once.
func (t TaskPage) Shared() (all []SharedReason) {
	for i := range t.Jobs {
		reason := t.Jobs[i].Reason
		if reason == "" || briefly(reason) == reason {
			continue
		}
		if k := slices.IndexFunc(all, func(s SharedReason) bool { return s.Reason == reason }); k >= 0 {
			all[k].N++
		} else {
			all = append(all, SharedReason{reason, 1})
		}
	}
	return slices.DeleteFunc(all, func(s SharedReason) bool { return s.N < 2 })
}

// Brief is a reason for a row: its beginning, where Shared has the rest of it.
func (t TaskPage) Brief(reason string) string {
	if slices.ContainsFunc(t.Shared(), func(s SharedReason) bool { return s.Reason == reason }) {
		return briefly(reason)
	}
	return reason
}

// briefly is the first part of a reason.
func briefly(reason string) string {
	first, _, _ := strings.Cut(reason, "; ")
	return first
}

// Counts are its jobs by state, each with the link to them.
func (t TaskPage) Counts() []StateCount {
	j := t.Task.Jobs
	return []StateCount{{"total", "", j.Total}, {"waiting", "waiting", j.Waiting}, {"ready", "ready", j.Ready}, {"leased", "leased", j.Leased},
		{"finished", "finished", j.Finished}, {"failed", "failed", j.Failed}, {"cancelled", "cancelled", j.Cancelled}}
}

// StateCount is how many jobs are in a state.
type StateCount struct {
	Name, State string
	N           int64
}

// Kinds are the kinds of its jobs with where they may run, put together by reason.
func (t TaskPage) Kinds() (all []KindPlaces) {
	for _, k := range t.Places {
		all = append(all, placesOfKind(k))
	}
	return all
}

// KindPlaces is where jobs of a kind may run, in few words.
type KindPlaces struct {
	dispatcher.KindQueues
	Runs     []dispatcher.QueueFit // the first ones
	NRuns    int
	NPilots  int
	Excluded []Exclusion
}

// Exclusion is why queues do not run jobs.
type Exclusion struct {
	Reason string
	Queues []string // the first ones
	N      int
}

const namedQueues = 20

func placesOfKind(k dispatcher.KindQueues) KindPlaces {
	out := KindPlaces{KindQueues: k}
	at := map[string]int{}
	for _, q := range k.Queues {
		if q.Runs {
			out.NRuns, out.NPilots = out.NRuns+1, out.NPilots+q.Pilots
			if len(out.Runs) < namedQueues {
				out.Runs = append(out.Runs, q)
			}
			continue
		}
		i, there := at[q.Reason]
		if !there {
			i = len(out.Excluded)
			at[q.Reason], out.Excluded = i, append(out.Excluded, Exclusion{Reason: q.Reason})
		}
		e := &out.Excluded[i]
		if e.N++; len(e.Queues) < namedQueues {
			e.Queues = append(e.Queues, q.Queue)
		}
	}
	slices.SortStableFunc(out.Excluded, func(a, b Exclusion) int { return cmp.Compare(b.N, a.N) })
	return out
}

// NeedsSay is what jobs of the kind need, in a line.
func (k KindPlaces) NeedsSay() string {
	s := count(k.Needs.Cores) + " cores"
	if k.Needs.Cores == 1 {
		s = "1 core"
	}
	if n := k.Needs.MemoryMB; n > 0 {
		s += ", " + count(n) + " MB of memory"
	}
	if n := k.Needs.DiskMB; n > 0 {
		s += ", " + count(n) + " MB of disk"
	}
	if n := k.Needs.WalltimeS; n > 0 {
		s += ", " + span(time.Duration(n)*time.Second)
	}
	return s
}

// Verbs lists the verbs that the task accepts now.
func (t TaskPage) Verbs() (all []option) {
	for _, v := range generator.VerbsFor(t.Task.State) {
		all = append(all, option{Value: string(v), Name: taskVerbs[v].name, Chosen: taskVerbs[v].danger})
	}
	return all
}

// Steerable says whether its priority can be changed.
func (t TaskPage) Steerable() bool { return !isOver(t.Task.State) && t.Task.State != "aborting" }
