package web

import (
	"context"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/face"
)

// The coming core answers what is read of the present one.
var _ interface {
	Outlook(context.Context) dispatcher.Standing
	ShareSeries(context.Context, dispatcher.SeriesRequest) (dispatcher.ShareSeries, error)
	Job(ctx context.Context, id int64) (dispatcher.JobRow, error)
	Jobs(context.Context, dispatcher.JobFilter) ([]dispatcher.JobRow, error)
	JobLog(ctx context.Context, id int64, attempt int) (string, error)
	TaskQueues(ctx context.Context, task int64) ([]dispatcher.KindQueues, error)
	Explain(ctx context.Context, job int64) (dispatcher.Explanation, error)
	Resources(ctx context.Context, name string) ([]dispatcher.ResourceStanding, error)
	TaskJobs(context.Context, dispatcher.JobFilter) (jobs []dispatcher.JobRow, next int64, err error)
} = (*face.Dispatcher)(nil)
