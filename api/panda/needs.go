package panda

import (
	"context"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator/view"
)

// Dispatcher leases jobs and knows how things stand; *dispatcher.Dispatcher is one.
type Dispatcher interface {
	Pull(context.Context, dispatcher.PullRequest) (dispatcher.PullReply, error)
	Renew(context.Context, dispatcher.RenewRequest) (dispatcher.RenewReply, error)
	Finish(context.Context, dispatcher.FinishRequest) (dispatcher.FinishReply, error)
	// Holdings finds the leases of attempts, which PanDA's pilots name by job and number.
	Holdings(context.Context, []dispatcher.HeldJob) ([]dispatcher.Holding, error)
	// Late notes what a pilot says of an attempt that had ended otherwise by then.
	Late(context.Context, dispatcher.HeldJob, dispatcher.Result) (noted bool, err error)
	// KeepLog keeps what the payload of an attempt wrote; dispatcher.LogKey makes the key.
	KeepLog(ctx context.Context, key, log string) error
}

// Tasks knows what jobs belong to; *view.Reader is one.
type Tasks interface {
	Task(ctx context.Context, id int64) (view.Task, error)
}

var (
	_ Dispatcher = (*dispatcher.Dispatcher)(nil)
	_ Tasks      = (*view.Reader)(nil)
)
