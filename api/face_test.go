package api

import (
	"context"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/face"
)

// The coming core answers what is read of the present one.
var _ interface {
	LeaseQueues(ctx context.Context, leases []string) (map[string]string, error)
	Standing() dispatcher.Standing
	Outlook(context.Context) dispatcher.Standing
	ShareSeries(context.Context, dispatcher.SeriesRequest) (dispatcher.ShareSeries, error)
	Queues() []dispatcher.QueueStanding
	QueuesLately(queue string) []dispatcher.QueueLately
	Lately(dispatcher.DecidedFilter) dispatcher.Lately
	Job(ctx context.Context, id int64) (dispatcher.JobRow, error)
	Jobs(context.Context, dispatcher.JobFilter) ([]dispatcher.JobRow, error)
	TaskJobs(context.Context, dispatcher.JobFilter) (jobs []dispatcher.JobRow, next int64, err error)
	LeasedJobs(context.Context, dispatcher.JobFilter) (jobs []dispatcher.JobRow, next int64, err error)
	JobLog(ctx context.Context, id int64, attempt int) (string, error)
	ShareStock(share, queue string) []dispatcher.ShareStock
	TaskQueues(ctx context.Context, task int64) ([]dispatcher.KindQueues, error)
	Explain(ctx context.Context, job int64) (dispatcher.Explanation, error)
	ExplainTask(ctx context.Context, task int64) (dispatcher.TaskExplanation, error)
	Why(context.Context, dispatcher.WhyRequest) (dispatcher.Why, error)
	Resources(ctx context.Context, name string) ([]dispatcher.ResourceStanding, error)
	GangHolds() []dispatcher.GangHold
	Stock() []dispatcher.Stock
	Counts() []dispatcher.Count
	Ended(ctx context.Context, within time.Duration) ([]dispatcher.Count, error)
	Pull(context.Context, dispatcher.PullRequest) (dispatcher.PullReply, error)
	Renew(context.Context, dispatcher.RenewRequest) (dispatcher.RenewReply, error)
	Finish(context.Context, dispatcher.FinishRequest) (dispatcher.FinishReply, error)
} = (*face.Dispatcher)(nil)
