package api

import (
	"context"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/api/web"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/live"
)

// pageRoutes adds the page for people to the routes.
func (s *server) pageRoutes(root chi.Router) *web.Page {
	c := web.Config{
		Dispatcher: pageDispatcher{s.dispatcher, s}, Tasks: s.Tasks, Steering: s.Steering, Site: s.Site, Audit: s.Access, Reports: s.Reports, Hub: s.Pages,
		Closed: s.Closed, Caller: s.edge.CallerOrNil, Book: s.Book, Outside: s.Outside,
		May: func(c *access.Caller, method, pattern string) error {
			if r := edge.RightOf(method, pattern); !r.Has(c) {
				return r.Refuse(c)
			}
			return nil
		},
		Admit: func(c *access.Caller, method, pattern string) error {
			return s.edge.Admit(c, edge.RightOf(method, pattern))
		},
		Fault: s.fault, Fail: s.edge.Fail, Build: s.Build, Timeout: s.timeout,
	}
	page := web.New(c)
	for _, r := range page.Routes() {
		root.Method(r.Method, r.Path, r.Serve)
	}
	return page
}

// fault returns the API's answer to err, for a page.
func (s *server) fault(w http.ResponseWriter, err error) web.Fault {
	p := problem.Of(err)
	s.edge.Sign(w, p, err)
	f := web.Fault{Status: p.Status, Title: p.Title, Code: p.Code, Detail: p.Detail, Hint: p.Hint, RequestID: p.RequestID}
	for _, d := range p.Errors {
		f.Errors = append(f.Errors, problem.FoundIn(d))
	}
	return f
}

// pageDispatcher asks the leader where it knows more than this daemon, as the routes of /v1 do.
type pageDispatcher struct {
	Dispatcher
	s *server
}

func (d pageDispatcher) QueuesNow(ctx context.Context) []dispatcher.QueueStanding {
	return asLead(ctx, d.s.Relay, askQueues, d.Dispatcher.Queues)
}

// QueuesLately returns who holds the cores of queues, and the outcomes of the last hour.
func (d pageDispatcher) QueuesLately(ctx context.Context, queue string) []dispatcher.QueueLately {
	if all, ok := askLead[[]dispatcher.QueueLately](ctx, d.s.Relay, askQueuesLately, queue); ok {
		return all
	}
	return d.Dispatcher.QueuesLately(queue)
}

// DecidedLately lists recent decisions.
func (d pageDispatcher) DecidedLately(ctx context.Context, f dispatcher.DecidedFilter) dispatcher.Lately {
	if l, ok := askLead[dispatcher.Lately](ctx, d.s.Relay, askLately, f); ok {
		return l
	}
	return d.Dispatcher.Lately(f)
}

// pageOutput is how much of each stream of a running attempt the page shows, in bytes.
const pageOutput = 16 << 10

// Output returns the end of what a running attempt wrote so far, and has it followed.
func (d pageDispatcher) Output(ctx context.Context, job int64, a dispatcher.Attempt) string {
	got := d.s.outputs.read(ctx, live.Question{Key: live.Key{Job: job, Attempt: a.Attempt}, Pilot: a.Pilot, From: [2]int64{-pageOutput, -pageOutput}, Most: pageOutput})
	return live.Text(got.Pieces)
}

// TaskQueues returns where the jobs of a task may run.
func (d pageDispatcher) TaskQueues(ctx context.Context, task int64) ([]dispatcher.KindQueues, error) {
	if access.OnlyUser(ctx) != "" {
		if _, err := d.s.Tasks.Task(ctx, task); err != nil {
			return nil, err
		}
	}
	if all, ok := askLead[[]dispatcher.KindQueues](ctx, d.s.Relay, askFits, task); ok {
		return all, nil
	}
	return d.Dispatcher.TaskQueues(ctx, task)
}

// Explain says why a job waits, or why it was given its slot.
func (d pageDispatcher) Explain(ctx context.Context, job int64) (dispatcher.Explanation, error) {
	if err := mayJob(ctx, d.Dispatcher, job); err != nil {
		return dispatcher.Explanation{}, err
	}
	if e, ok := askLead[dispatcher.Explanation](ctx, d.s.Relay, askExplain, job); ok {
		return e, nil
	}
	return d.Dispatcher.Explain(ctx, job)
}
