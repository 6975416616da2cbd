package api

import (
	"context"
	"io"
	"time"

	"github.com/divvyhq/divvy/api/pilots"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/groups"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/tags"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

// Dispatcher leases jobs and reads their state; *dispatcher.Dispatcher is one.
type Dispatcher interface {
	pilots.Dispatcher
	// Loaded returns an error until the daemon has read its state; before that, Standing, Queues and the like are
	// empty.
	Loaded(context.Context) error
	Standing() dispatcher.Standing
	// Outlook is Standing with the time until shares reach their targets.
	Outlook(context.Context) dispatcher.Standing
	// ShareSeries returns the samples of a share over a period.
	ShareSeries(context.Context, dispatcher.SeriesRequest) (dispatcher.ShareSeries, error)
	Queues() []dispatcher.QueueStanding
	// Wanted returns how many pilots a queue should have.
	Wanted(dispatcher.WantedRequest) (dispatcher.QueueWanted, error)
	// QueuesLately returns who holds the cores of all queues, or of one, and the outcomes of the last hour. Lately
	// lists decisions.
	QueuesLately(queue string) []dispatcher.QueueLately
	Lately(dispatcher.DecidedFilter) dispatcher.Lately
	Job(ctx context.Context, id int64) (dispatcher.JobRow, error)
	Jobs(context.Context, dispatcher.JobFilter) ([]dispatcher.JobRow, error)
	// TaskJobs is Jobs of one task; next is the After of the next page, 0 on the last one.
	TaskJobs(context.Context, dispatcher.JobFilter) (jobs []dispatcher.JobRow, next int64, err error)
	// LeasedJobs lists the leased jobs of a user, a share or a queue.
	LeasedJobs(context.Context, dispatcher.JobFilter) (jobs []dispatcher.JobRow, next int64, err error)
	// JobLog is the end of an attempt's output; attempt 0 = the last one.
	JobLog(ctx context.Context, id int64, attempt int) (string, error)
	// ShareStock returns the ready jobs of shares by queue; TaskQueues, where the jobs of a task may run.
	ShareStock(share, queue string) []dispatcher.ShareStock
	TaskQueues(ctx context.Context, task int64) ([]dispatcher.KindQueues, error)
	// Explain says why a job waits, or why it got its slot; Why, why a share was served before another.
	Explain(ctx context.Context, job int64) (dispatcher.Explanation, error)
	ExplainTask(ctx context.Context, task int64) (dispatcher.TaskExplanation, error)
	Why(context.Context, dispatcher.WhyRequest) (dispatcher.Why, error)
	// Resources lists finite resources without IDs. With a name it lists the parts of that resource, one for each
	// queue or key, with IDs.
	Resources(ctx context.Context, name string) ([]dispatcher.ResourceStanding, error)
	// Claims lists resource claims by rising id. Claim returns one with its holders and waiters, or ErrNoClaim.
	Claims(context.Context, dispatcher.ClaimFilter) ([]dispatcher.ClaimStanding, error)
	Claim(ctx context.Context, id int64) (dispatcher.ClaimStanding, error)
	// CreateClaim makes a claim outside of tasks, DeleteClaim ends it by its name.
	CreateClaim(context.Context, dispatcher.OutsideClaim) (dispatcher.ClaimStanding, error)
	DeleteClaim(ctx context.Context, name string, force bool) (dispatcher.ClaimStanding, error)
	// ReportExternal records what a resource's own server counts: all units, and the units in use, divvy's included.
	ReportExternal(ctx context.Context, name, queue string, total, used int64) error
	// KillJob cancels a live job and returns its new state, or ErrNoJob if no job has the id.
	KillJob(ctx context.Context, id int64) (state string, err error)
}

// Tasks reads tasks; *view.Reader is one.
type Tasks interface {
	Task(ctx context.Context, id int64) (view.Task, error)
	// Tasks lists by rising id; next is the After of the next page, 0 on the last one.
	Tasks(context.Context, view.Filter) (tasks []view.Task, next int64, err error)
	// List gives a page of tasks in some order, for people.
	List(context.Context, view.Listing) (view.Listed, error)
}

// Submissions takes tasks; *generator.Submissions is one.
type Submissions interface {
	Submit(context.Context, generator.SubmitRequest) (view.Task, error)
	AddInputs(ctx context.Context, id, offset int64, lines io.Reader) (next int64, err error)
	Commit(ctx context.Context, id int64) (view.Task, error)
	// Clone submits a task like another one; SubmitMany submits many at once.
	Clone(context.Context, generator.CloneRequest) (view.Task, error)
	SubmitMany(context.Context, []generator.SubmitRequest) ([]generator.Submitted, error)
}

// Steering steers tasks; *generator.Verbs is one.
type Steering interface {
	// Say applies a verb to one task, a retry perhaps with changes; Act applies any verb to many.
	Say(ctx context.Context, verb generator.Verb, id int64, with *spec.Changes) (generator.Change, error)
	Act(context.Context, generator.ActRequest) (generator.Acted, error)
	// Prioritise gives a task and its jobs another priority.
	Prioritise(ctx context.Context, id int64, priority int) (generator.PriorityChange, error)
	// Scale changes how many replicas or jobs a task of groups has.
	Scale(ctx context.Context, id int64, to spec.Scaling) (groups.ScaleChange, error)
	// Reassign gives tasks to another share.
	Reassign(context.Context, generator.ReassignRequest) (generator.Reassigned, error)
}

// Past computes what other rules would make of past tasks; tags.Past is one.
type Past interface {
	Retag(ctx context.Context, st *site.Site, since time.Duration) (tags.Retagging, error)
}

// Site keeps the versions of the site file; *site.Store is one.
type Site interface {
	Apply(context.Context, site.ApplyRequest) (site.Applied, error)
	Load(context.Context) (*site.Site, error)
	// History lists versions before the given one (0 = all), newest first.
	History(ctx context.Context, before int64, limit int) ([]site.Head, error)
	// File returns a version as it was written, also one that this program cannot read.
	File(ctx context.Context, version int64) (site.File, error)
	// Get and Diff take 0 for the version in force.
	Get(ctx context.Context, version int64) (*site.Site, error)
	Diff(ctx context.Context, from, to int64) (site.Changes, error)
	Rollback(context.Context, site.RollbackRequest) (site.Applied, error)
	SetQueueState(ctx context.Context, name string, state shares.QueueState) error
	// SetResourceCapacity overrides the capacity of the file, or restores it.
	SetResourceCapacity(context.Context, site.SetCapacity) error
	// Preview reads a file without applying it, with the ids that its shares would keep.
	Preview(ctx context.Context, name string, src []byte) (*site.Site, error)
	// Versions that take effect later.
	ApplyLater(context.Context, site.LaterRequest) (site.Later, error)
	Later(ctx context.Context, all bool) ([]site.Later, error)
	LaterFile(ctx context.Context, id int64) (site.LaterFile, error)
	CancelLater(ctx context.Context, id int64, by string) (site.Later, error)
}

// Access makes, lists and revokes tokens; *access.Store is one.
type Access interface {
	Create(context.Context, access.New) (access.Made, error)
	List(ctx context.Context, all bool) ([]access.Token, error)
	// Revoke accepts a token's name, or a text that begins with the token's prefix.
	Revoke(ctx context.Context, which, by string) (access.Token, error)
	// Audit lists changes that callers made, the newest first.
	Audit(context.Context, access.AuditFilter) ([]access.Audited, error)
	// AuditAmong is Audit that looks at no more than so many entries.
	AuditAmong(ctx context.Context, f access.AuditFilter, among int) (access.Looked, error)
}

// The packages below implement the interfaces.
var (
	_ Dispatcher  = (*dispatcher.Dispatcher)(nil)
	_ Tasks       = (*view.Reader)(nil)
	_ Submissions = (*generator.Submissions)(nil)
	_ Steering    = (*generator.Verbs)(nil)
	_ Past        = tags.Past{}
	_ Site        = (*site.Store)(nil)
	_ Access      = (*access.Store)(nil)
)
