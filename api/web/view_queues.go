package web

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/divvyhq/divvy/api/web/hub"
	"github.com/divvyhq/divvy/dispatcher"
)

// QueuesPage is the queues, or those that were asked for.
type QueuesPage struct {
	AsOf
	Queues []QueueLine `json:"queues"`
	Total  int         `json:"total"` // that were asked for, on all pages
	All    int         `json:"all"`   // of the site
	Page   int         `json:"page"`
	Pages  int         `json:"pages"`
	Pools  []string    `json:"-"`
	Asked  asked       `json:"-"`
}

// QueueLine is the state of a queue, and its recent outcomes.
type QueueLine struct {
	dispatcher.QueueStanding
	Lately dispatcher.QueueLately `json:"lately"`
}

// Orders of queues, the largest first but for the order of the site file and names.
var queueSorts = []string{"file", "name", "held", "free", "ready", "pilots", "wait", "failures"}

var queueStates = []string{"online", "drain", "offline", "test", "black_hole"}

const queuesOfPage = 100

func (s *places) queuesPage(ctx context.Context, r *Request) (Dated, error) {
	a := askedOf(r)
	a.oneOf("state", queueStates...)
	a.oneOf("sort", queueSorts...)
	page := a.number("page", 1, 100_000, 1)
	all, err := s.queuesNow(ctx)
	if err != nil {
		return nil, err
	}
	out := QueuesPage{AsOf: Now(), Queues: []QueueLine{}, Page: int(page), Asked: a}
	for _, q := range all {
		out.All++
		if !slices.Contains(out.Pools, q.Pool) {
			out.Pools = append(out.Pools, q.Pool)
		}
		if a.selectsQueue(q.QueueStanding) {
			out.Queues = append(out.Queues, q)
		}
	}
	a.choices["pool"] = out.Pools
	if pool := a.Get("pool"); pool != "" && !slices.Contains(out.Pools, pool) {
		a.unknown("pool", "pool", out.Pools)
	}
	out.Total = len(out.Queues)
	out.Pages = max(1, (out.Total+queuesOfPage-1)/queuesOfPage)
	if out.Page > out.Pages && len(a.wrong) == 0 {
		a.refuse("page", fmt.Sprintf("a page from 1 to %d: so many have queues like these", out.Pages))
	}
	if err := a.err(); err != nil {
		return nil, err
	}
	sortQueues(out.Queues, a.Get("sort"))
	out.Queues = out.Queues[(out.Page-1)*queuesOfPage : min(out.Page*queuesOfPage, out.Total)]
	return out, nil
}

// queuesNow are all queues, looked at once in a moment however many pages are open: who holds what is a sum over all that is
// held, for which the dispatcher is locked.
func (s *places) queuesNow(ctx context.Context) ([]QueueLine, error) {
	return s.queues.get(0, func() ([]QueueLine, error) {
		lately := map[string]dispatcher.QueueLately{}
		for _, l := range s.dispatcher.QueuesLately(ctx, "") {
			lately[l.Queue] = l
		}
		all := []QueueLine{}
		for _, q := range s.dispatcher.QueuesNow(ctx) {
			all = append(all, QueueLine{q, lately[q.Name]})
		}
		return all, nil
	})
}

func (a *asked) selectsQueue(q dispatcher.QueueStanding) bool {
	if text := a.Get("q"); text != "" && !strings.Contains(strings.ToLower(q.Name), strings.ToLower(text)) {
		return false
	}
	if state := a.Get("state"); state == "black_hole" && q.BlackHole == nil || state != "" && state != "black_hole" && string(q.State) != state {
		return false
	}
	return a.Get("pool") == "" || a.Get("pool") == q.Pool
}

func sortQueues(all []QueueLine, by string) {
	key := map[string]func(q *QueueLine) float64{
		"held": func(q *QueueLine) float64 { return float64(q.HeldCores) },
		"free": func(q *QueueLine) float64 {
			if q.Slots == nil {
				return 1e18
			}
			return float64(int64(*q.Slots) - q.HeldCores)
		},
		"ready":    func(q *QueueLine) float64 { return float64(q.Ready) },
		"pilots":   func(q *QueueLine) float64 { return float64(q.Pilots) },
		"wait":     func(q *QueueLine) float64 { return q.Lately.MeanS },
		"failures": func(q *QueueLine) float64 { return q.Lately.Failure },
	}[by]
	switch {
	case by == "name":
		slices.SortStableFunc(all, func(a, b QueueLine) int { return cmp.Compare(a.Name, b.Name) })
	case key != nil:
		slices.SortStableFunc(all, func(a, b QueueLine) int { return cmp.Compare(key(&b), key(&a)) })
	}
}

// Cores prints the slots of the queue.
func (q QueueLine) Cores() string {
	if q.Slots == nil {
		return "∞"
	}
	return count(*q.Slots)
}

// Stack draws who holds its cores.
func (q QueueLine) Stack() stack { return stackOf(q.QueueStanding, q.Lately.Held) }

// Wait prints how long pulls waited for their jobs.
func (q QueueLine) Wait() string {
	if q.Lately.Pulls == 0 {
		return "–"
	}
	return seconds(q.Lately.MeanS)
}

// Failures prints which part of the attempts failed.
func (q QueueLine) Failures() string {
	if q.Lately.Ended == 0 {
		return "–"
	}
	return percent(q.Lately.Failure)
}

// Says returns the state with its explanation.
func (q QueueLine) Says() string {
	if q.BlackHole != nil {
		return string(q.State) + ", black hole"
	}
	return string(q.State)
}

// Key names the queue in what changes.
func (q QueueLine) Key() string { return "q" + strconv.Itoa(int(q.ID)) }

// Cells are the figures of the queue that change.
func (q QueueLine) Cells() []cell {
	k := q.Key()
	return []cell{{Key: k + ".held", Text: count(q.HeldCores)}, {Key: k + ".jobs", Text: count(q.HeldJobs)}, {Key: k + ".ready", Text: count(q.Ready)},
		{Key: k + ".pilots", Text: count(q.Pilots)}, {Key: k + ".waiting", Text: count(q.Waiting)}, {Key: k + ".wait", Text: q.Wait()},
		{Key: k + ".failures", Text: q.Failures()}}
}

// update tells open pages what has changed: queues that come or go, and states, are another shape.
func (s QueuesPage) update() hub.Update {
	u := hub.Update{Cells: map[string]string{}}
	var shape strings.Builder
	fmt.Fprintf(&shape, "%d %d", s.Total, s.Page)
	for _, q := range s.Queues {
		fmt.Fprintf(&shape, " %d%s%t", q.ID, q.State, q.BlackHole != nil)
		for _, c := range q.Cells() {
			u.Cells[c.Key] = c.Text
		}
		st := q.Stack()
		st.cells(q.Key(), u.Cells)
	}
	u.Shape = short(shape.String())
	return u
}

// Back is the link to the page before; empty: there is none.
func (s QueuesPage) Back() string {
	if s.Page == 1 {
		return ""
	}
	return s.Asked.With("page", s.Page-1)
}

// On is the link to the next page.
func (s QueuesPage) On() string {
	if s.Page == s.Pages {
		return ""
	}
	return s.Asked.With("page", s.Page+1)
}
