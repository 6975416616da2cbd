package web

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/shares"
)

// QueuePage is a queue: its state, its holders, and recent decisions.
type QueuePage struct {
	AsOf
	QueueLine
	Decisions []dispatcher.Decided `json:"decisions,omitzero"` // the newest ones; nil: the caller may not see them
}

// Heading is the queue's name.
func (q QueuePage) Heading() string { return "Queue " + q.Name }

// HasDecisions reports whether the caller may see decisions.
func (q QueuePage) HasDecisions() bool { return q.Decisions != nil }

const decisionsOfQueue = 20

func (s *places) queuePage(ctx context.Context, r *Request) (Dated, error) {
	name := r.Param("queue")
	all, err := s.queuesNow(ctx)
	if err != nil {
		return nil, err
	}
	for _, q := range all {
		if q.Name != name {
			continue
		}
		out := QueuePage{AsOf: Now(), QueueLine: q}
		if access.OnlyUser(ctx) != "" {
			return out, nil // they name jobs, tasks and pilots of others
		}
		out.Decisions = s.dispatcher.DecidedLately(ctx, dispatcher.DecidedFilter{Queue: name, Limit: decisionsOfQueue}).Items
		if out.Decisions == nil {
			out.Decisions = []dispatcher.Decided{}
		}
		return out, nil
	}
	return nil, fmt.Errorf("%w: no queue has the name %q%s; the page /queues has all of them", ErrNoPage, name, nearTo(name, queueNames(all)))
}

// LabelList are the labels of the queue, by name.
func (q QueuePage) LabelList() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(q.Labels)) {
		all = append(all, name+"="+q.Labels[name])
	}
	return all
}

// Verbs are the states that it may be put into, and what that means.
func (q QueuePage) Verbs() (all []option) {
	for _, v := range queueVerbs {
		if v.Value != string(q.State) {
			all = append(all, v)
		}
	}
	return all
}

var queueVerbs = []option{{Value: string(shares.Online), Name: "Bring online"}, {Value: string(shares.Drain), Name: "Drain"},
	{Value: string(shares.Test), Name: "Only test jobs"}, {Value: string(shares.Offline), Name: "Take offline"}}

// Of is the part of the queue's cores that are held, or of its slots if it has so many.
func (q QueuePage) Of(h dispatcher.QueueHeld) string {
	whole := q.HeldCores
	if q.Slots != nil {
		whole = max(whole, int64(*q.Slots))
	}
	if whole == 0 {
		return "–"
	}
	return percent(float64(h.Cores) / float64(whole))
}

// setQueue is POST /queues/{queue}/state.
func (s *places) setQueue(ctx context.Context, r *Request) (Answer, error) {
	name, state := r.Param("queue"), shares.QueueState(r.Form.Get("state"))
	to := "/queues/" + url.PathEscape(name)
	says := map[shares.QueueState]string{
		shares.Online:  "It gets jobs again.",
		shares.Drain:   "It gets no new jobs; those that it runs go on.",
		shares.Test:    "It gets only jobs that ask for it, by its name or a label.",
		shares.Offline: "It gets no new jobs, and its slots are not capacity: targets of all shares in its pool become smaller.",
	}[state]
	if says == "" {
		return Answer{}, fmt.Errorf("%w: state is %q, expected online, drain, test or offline", ErrQuery, state)
	}
	if state == shares.Offline && !r.Sure() {
		return r.Confirm(Confirmation{Question: "Take queue " + name + " offline?", Details: []string{says}, Verb: "Take offline", Danger: true, Back: to}), nil
	}
	if err := s.site.SetQueueState(ctx, name, state); err != nil {
		return Answer{}, err
	}
	s.queues.forget()
	return Answer{To: to, Said: "Queue " + name + " is " + string(state) + ". " + says}, nil
}
