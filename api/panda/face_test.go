package panda

import (
	"context"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/face"
)

// The coming core answers what is read of the present one.
var _ interface {
	Holdings(context.Context, []dispatcher.HeldJob) ([]dispatcher.Holding, error)
	JobsByID(ctx context.Context, ids []int64) ([]dispatcher.JobRow, error)
	JobIDs(context.Context, dispatcher.JobChoice) ([]int64, error)
	Metadata(ctx context.Context, task, after int64, n int) ([]dispatcher.JobMetadata, error)
	Counts() []dispatcher.Count
	Ended(ctx context.Context, within time.Duration) ([]dispatcher.Count, error)
	Queues() []dispatcher.QueueStanding
	Standing() dispatcher.Standing
} = (*face.Dispatcher)(nil)
