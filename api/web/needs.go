package web

import (
	"context"
	"net/http"
	"time"

	"github.com/divvyhq/divvy/api/web/hub"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/report"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

// Dispatcher is what the page asks of jobs, leases and the standing of shares and queues. What the daemon that decides
// knows better is asked there; the package api sees to it.
type Dispatcher interface {
	Outlook(context.Context) dispatcher.Standing
	ShareSeries(context.Context, dispatcher.SeriesRequest) (dispatcher.ShareSeries, error)
	QueuesNow(context.Context) []dispatcher.QueueStanding
	Job(ctx context.Context, id int64) (dispatcher.JobRow, error)
	Jobs(context.Context, dispatcher.JobFilter) ([]dispatcher.JobRow, error)
	JobLog(ctx context.Context, id int64, attempt int) (string, error)
	// Output returns the end of what a running attempt wrote so far, and has it followed.
	Output(ctx context.Context, job int64, a dispatcher.Attempt) string
	TaskQueues(ctx context.Context, task int64) ([]dispatcher.KindQueues, error)
	Explain(ctx context.Context, job int64) (dispatcher.Explanation, error)
	Resources(ctx context.Context, name string) ([]dispatcher.ResourceStanding, error)
	Claims(context.Context, dispatcher.ClaimFilter) ([]dispatcher.ClaimStanding, error)
	Claim(ctx context.Context, id int64) (dispatcher.ClaimStanding, error)
	KillJob(ctx context.Context, id int64) (state string, err error)
	// TaskJobs lists jobs of a task; next is the After of the next page, 0 on the last one.
	TaskJobs(context.Context, dispatcher.JobFilter) (jobs []dispatcher.JobRow, next int64, err error)
	// QueuesLately says who holds the cores of queues, or of one, and how they did in the last hour.
	QueuesLately(ctx context.Context, queue string) []dispatcher.QueueLately
	// DecidedLately lists decisions, the newest first.
	DecidedLately(context.Context, dispatcher.DecidedFilter) dispatcher.Lately
}

// Tasks is what the page asks of tasks.
type Tasks interface {
	Task(ctx context.Context, id int64) (view.Task, error)
	List(context.Context, view.Listing) (view.Listed, error)
}

// Steering is what the page does to tasks.
type Steering interface {
	Say(ctx context.Context, verb generator.Verb, id int64, with *spec.Changes) (generator.Change, error)
	Prioritise(ctx context.Context, id int64, priority int) (generator.PriorityChange, error)
}

// Site is what the page asks of site versions, and applies.
type Site interface {
	Apply(context.Context, site.ApplyRequest) (site.Applied, error)
	Load(context.Context) (*site.Site, error)
	History(ctx context.Context, before int64, limit int) ([]site.Head, error)
	Get(ctx context.Context, version int64) (*site.Site, error)
	Diff(ctx context.Context, from, to int64) (site.Changes, error)
	SetQueueState(ctx context.Context, name string, state shares.QueueState) error
}

// Audit is what the page asks of the audit.
type Audit interface {
	// AuditAmong lists changes that callers made, the newest first, chosen from so many entries at the most.
	AuditAmong(ctx context.Context, f access.AuditFilter, among int) (access.Looked, error)
}

// Reports answers reports by name.
type Reports interface {
	Run(ctx context.Context, name, by string, since time.Time) (report.Table, error)
}

// Config is what a Page is made of. Dispatcher, Tasks, Steering, Site, Audit, Reports, Fault and Fail are needed.
type Config struct {
	Dispatcher Dispatcher
	Tasks      Tasks
	Steering   Steering
	Site       Site
	Audit      Audit
	Reports    Reports
	// Hub serves /events; nil: pages stand still.
	Hub *hub.Hub
	// Closed says that a token is asked for. Caller is who makes a request by its token or certificate, nil: nobody who is let in;
	// Book knows whose a session is.
	Closed bool
	Caller func(r *http.Request) *access.Caller
	Book   *access.Book
	// Outside knows where people log in, and who has; nil: nowhere.
	Outside func() *access.Outside
	// May says whether a caller has the right to a route of the page; the error says what is missing.
	May func(c *access.Caller, method, pattern string) error
	// Admit counts a request and refuses what is too much of one caller; nil: nothing is.
	Admit func(c *access.Caller, method, pattern string) error
	// Fault says in the API's words what went wrong, and Fail answers with it as a problem.
	Fault func(http.ResponseWriter, error) Fault
	Fail  func(http.ResponseWriter, error)
	// Build is the version of the binary.
	Build string
	// Timeout bounds a request; 0 = a minute.
	Timeout time.Duration
}

// Fault is an error as a page shows it.
type Fault struct {
	AsOf
	Status    int
	Title     string
	Code      string
	Detail    string
	Hint      string
	RequestID string
	Errors    []string // with their places
}
