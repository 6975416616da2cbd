package explain

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
)

// MostCounted bounds how many of the live jobs of a task are looked at for the next one, and how many pieces before its own.
const MostCounted = 10_000

// TaskExplanation is why nothing more of a task runs, and what comes next of it.
type TaskExplanation struct {
	Task    int64        `json:"task"`
	Share   string       `json:"share" doc:"Path of the share that pays; empty while there is none."`
	State   string       `json:"state" doc:"Of the task."`
	At      time.Time    `json:"at"`
	Summary string       `json:"summary" doc:"The answer in a few words."`
	ToCome  int64        `json:"to_come" doc:"Pieces that are no jobs yet."`
	Ready   int64        `json:"ready"`
	Leased  int64        `json:"leased"`
	Next    *Explanation `json:"next,omitempty" doc:"Of the job that is to start next, as in GET /v1/jobs/{id}/explain; with job 0, of a piece that is no job yet: before it come ready jobs of its share and pieces of tasks that go first."`
}

// summary is the answer for a task.
func (e *TaskExplanation) summary(t *TaskSubject) string {
	var s string
	switch reason := strings.TrimSuffix(t.Reason, "."); {
	case t.Over:
		s = "It is over: " + t.State + "."
	case t.State == "submitting":
		s = "It gets its inputs, and starts with the commit behind them."
	case t.State == "paused":
		s = fmt.Sprintf("It is paused: divvy task resume %d lets it go on.", t.Task)
	case t.State == "exhausted":
		s = fmt.Sprintf("A scout of it failed: divvy task avalanche %d lets it go on.", t.Task)
	case t.State == "ready", t.State == "scouting", t.State == "running":
	case reason != "":
		s = fmt.Sprintf("It is %s: %s.", t.State, reason)
	default:
		s = fmt.Sprintf("It is %s.", t.State)
	}
	if t.Leased > 0 {
		s += fmt.Sprintf(" Pilots have %d of its jobs.", t.Leased)
	}
	switch {
	case !t.Over && t.unseen():
		s += fmt.Sprintf(" Which of its %d ready jobs is next was not looked up: pilots have the first %d.", t.Ready, MostCounted)
	case e.Next == nil && s == "":
		s = "All its jobs have ended; the end of the task is decided within seconds."
	case e.Next == nil:
	case e.Next.Job == 0 && (s == "" || e.Next.Gate == GateStructural):
		s += fmt.Sprintf(" None of its %d pieces is a job yet. Of such a job: %s", e.ToCome, e.Next.Summary)
	case e.Next.Job != 0:
		s += fmt.Sprintf(" Its next job is %d: %s", e.Next.Job, e.Next.Summary)
	}
	return strings.TrimSpace(s)
}

// TaskSubject is the task that is explained, as its row says.
type TaskSubject struct {
	Task     int64
	Share    string // path
	State    string
	Reason   string
	ToCome   int64
	Ready    int64
	Leased   int64
	Priority int
	Over     bool
	Cut      bool          // of its live jobs not all were looked at
	Next     *Subject      // the job that is to start next; nil: there is none
	Piece    *Subject      // else the job that the next of its pieces will be; nil: it is not known what that needs
	Ahead    []PiecesAhead // of other tasks of the share, which become jobs before that
	More     bool          // and others, that were not counted
}

// PiecesAhead are pieces of one shape; 0: it is not known.
type PiecesAhead struct {
	Shape  int32
	Pieces int64
}

// unseen says that pilots have all of its jobs that were looked at, and others are ready.
func (t *TaskSubject) unseen() bool { return t.Next == nil && t.Cut && t.Ready > 0 }

// Task says why no more of a task runs: what it waits for, or what keeps the job that is to start next, or a piece of it where
// none is a job yet.
func (m Moment) Task(t TaskSubject) TaskExplanation {
	e := TaskExplanation{Task: t.Task, Share: t.Share, State: t.State, At: m.At.UTC(), ToCome: t.ToCome, Ready: t.Ready, Leased: t.Leased}
	switch {
	case t.Over:
	case t.Next != nil:
		next := m.Job(*t.Next)
		e.Next = &next
	case t.ToCome > 0 && t.Piece != nil && !t.unseen():
		next := m.piece(&t)
		e.Next = &next
	}
	e.Summary = e.summary(&t)
	return e
}

// piece explains a piece as the ready job that it will be.
func (m Moment) piece(t *TaskSubject) Explanation {
	s := *t.Piece
	s.State, s.Job, s.Piece = "ready", math.MaxInt64, true // the last of all that there are
	e := Explanation{Task: t.Task, Share: s.Path, State: "waiting", At: m.At.UTC(), Version: m.View.Site.Number}
	if leaf, ok := m.View.Site.Tree.ByID(s.Share); ok {
		s.Place = m.View.Site.Tree.Nodes[leaf].Plan.Aging.Place(t.Priority, m.At)
	}
	l := m.lookAt(&s)
	for _, a := range t.Ahead {
		l.before += a.Pieces
		l.ahead = append(l.ahead, machine.AheadView{Shape: a.Shape, Before: a.Pieces})
		for _, p := range l.pools {
			l.sizeOf(a.Shape, p)
		}
	}
	l.more = t.More || l.before > MostCounted
	l.before = min(l.before, MostCounted)
	l.fill(&e)
	if e.Position == nil {
		e.Position = &Position{}
	}
	if e.Gate == GateStructural {
		if reason := job.Nowhere(m.View.Site, l.need, s.Path); reason != "" {
			e.Summary = strings.ToUpper(reason[:1]) + reason[1:] + "."
		}
	}
	return e
}
