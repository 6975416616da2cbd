package panda

import (
	"context"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator/view"
)

// Dispatcher leases jobs and reads their state; *dispatcher.Dispatcher is one.
type Dispatcher interface {
	Pull(context.Context, dispatcher.PullRequest) (dispatcher.PullReply, error)
	Renew(context.Context, dispatcher.RenewRequest) (dispatcher.RenewReply, error)
	Finish(context.Context, dispatcher.FinishRequest) (dispatcher.FinishReply, error)
	// Holdings finds the leases of attempts, which PanDA's pilots name by job and number.
	Holdings(context.Context, []dispatcher.HeldJob) ([]dispatcher.Holding, error)
	// Late records a pilot's report about an attempt that had ended otherwise before.
	Late(context.Context, dispatcher.HeldJob, dispatcher.Result) (noted bool, err error)
	// KeepLog stores the output of an attempt's payload; dispatcher.LogKey makes the key.
	KeepLog(ctx context.Context, key, log string) error
}

// Tasks reads the tasks of jobs; *view.Reader is one.
type Tasks interface {
	Task(ctx context.Context, id int64) (view.Task, error)
}

var (
	_ Dispatcher = (*dispatcher.Dispatcher)(nil)
	_ Tasks      = (*view.Reader)(nil)
)
