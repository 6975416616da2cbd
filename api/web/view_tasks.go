package web

import (
	"context"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/divvyhq/divvy/api/web/hub"
	"github.com/divvyhq/divvy/generator/view"
)

// TasksPage is a page of tasks.
type TasksPage struct {
	AsOf
	Tasks []TaskLine `json:"items"`
	Next  string     `json:"next"`            // after of the next page
	Among int        `json:"among,omitempty"` // the newest so many are what the page was chosen from
	Asked asked      `json:"-"`
}

// TaskLine is a task of a list.
type TaskLine struct{ view.Task }

// States that a task may be asked for by.
var taskStates = []string{"submitting", "waiting", "ready", "scouting", "running", "paused", "throttled", "exhausted", "finishing", "done",
	"finished", "failed", "aborting", "aborted"}

const tasksOfPage = 50

func (w *work) tasksPage(ctx context.Context, r *Request) (Dated, error) {
	a := askedOf(r)
	a.oneOf("state", taskStates...)
	a.oneOf("sort", view.Sorts...)
	a.oneOf("over", "too")
	if len(a.wrong) > 0 {
		w.tree.checkShare(ctx, &a)
		return nil, a.err()
	}
	list, err := w.tasks.List(ctx, view.Listing{User: a.Get("user"), Label: a.Get("label"), Share: a.Get("share"), Name: a.Get("name"),
		State: a.Get("state"), Live: a.Get("over") == "" && !isOver(a.Get("state")), Sort: a.Get("sort"), After: a.Get("after"), Limit: tasksOfPage})
	if err == nil && len(list.Tasks) == 0 && list.Next == "" { // a share that has gone may have tasks that are over
		w.tree.checkShare(ctx, &a)
		err = a.err()
	}
	if err != nil {
		return nil, err
	}
	out := TasksPage{AsOf: Now(), Tasks: make([]TaskLine, len(list.Tasks)), Next: list.Next, Among: list.Among, Asked: a}
	for i, t := range list.Tasks {
		out.Tasks[i] = TaskLine{t}
	}
	return out, nil
}

// isOver says whether a task in a state is not to change any more, but by a retry.
func isOver(state string) bool {
	switch state {
	case "done", "finished", "failed", "aborted":
		return true
	}
	return false
}

// Filtered says whether tasks were left out that are not over.
func (s TasksPage) Filtered() bool { return s.Asked.Any("user", "label", "share", "name", "state") }

// Key names the task in what changes.
func (t TaskLine) Key() string { return "t" + strconv.FormatInt(t.ID, 10) }

// Ended is how many of its jobs are over.
func (t TaskLine) Ended() int64 { return t.Jobs.Finished + t.Jobs.Failed + t.Jobs.Cancelled }

// Done prints which part of it is over.
func (t TaskLine) Done() string {
	if t.Jobs.Total <= 0 {
		return "–"
	}
	// To the tenth, and never 100 % before all is over.
	return strconv.FormatFloat(float64(t.Ended()*1000/t.Jobs.Total)/10, 'f', 1, 64) + " %"
}

// Cells are the figures of the task that change.
func (t TaskLine) Cells() []cell {
	k := t.Key()
	return []cell{{Key: k + ".done", Text: t.Done()}, {Key: k + ".total", Text: count(t.Jobs.Total)}, {Key: k + ".ready", Text: count(t.Jobs.Ready)},
		{Key: k + ".leased", Text: count(t.Jobs.Leased)}, {Key: k + ".failed", Text: count(t.Jobs.Failed)}}
}

// barPart is what of a task's jobs are in a state.
type barPart struct{ Class, D string }

// Bar draws the jobs of the task by state.
func (t TaskLine) Bar() template.HTML {
	var b strings.Builder
	b.WriteString(barOpen)
	for _, part := range barOf(t.Jobs) {
		writePath(&b, part.Class, part.D, t.Key()+"."+part.Class)
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

func barOf(j view.JobCounts) []barPart {
	var s stack
	states := []struct {
		class string
		n     int64
	}{{"finished", j.Finished}, {"failed", j.Failed}, {"cancelled", j.Cancelled}, {"running", j.Leased}, {"ready", j.Ready}}
	parts, at := make([]barPart, len(states)), int64(0)
	for i, of := range states {
		s.Paths[0] = ""
		at = s.add(at, of.n, max(j.Total, j.Finished+j.Failed+j.Cancelled+j.Leased+j.Ready), 0)
		parts[i] = barPart{"s-" + of.class, s.Paths[0]}
	}
	return parts
}

// DeadlineSays describes the task's deadline.
func (t TaskLine) DeadlineSays() string {
	if t.Deadline == nil {
		return ""
	}
	return deadlineSays(t.Deadline)
}

func deadlineSays(d *view.DeadlineState) string {
	s := "due " + stamp(d.At)
	switch d.LateRisk {
	case "met", "missed":
		return s + ", " + d.LateRisk
	case "late":
		return s + ", late"
	}
	if d.ETA != nil {
		s += ", likely over " + stamp(*d.ETA)
	}
	return s + ", risk " + d.LateRisk
}

// Age prints how long ago it was submitted.
func (t TaskLine) Age(at time.Time) string { return span(max(0, at.Sub(t.CreatedAt))) }

// update tells open pages what has changed. Tasks that come, go or change their state are another shape.
func (s TasksPage) update() hub.Update {
	u := hub.Update{Cells: map[string]string{}}
	var shape strings.Builder
	for _, t := range s.Tasks {
		fmt.Fprintf(&shape, "%d%s%d%s ", t.ID, t.State, t.Priority, t.Reason)
		for _, c := range t.Cells() {
			u.Cells[c.Key] = c.Text
		}
		for _, part := range barOf(t.Jobs) {
			u.Cells[t.Key()+"."+part.Class] = part.D
		}
	}
	u.Shape = short(shape.String() + s.Next)
	return u
}
