package pilot

import (
	"context"

	"github.com/divvyhq/divvy/api/wire"
)

// Client is the server as the pilot sees it; api/client has it.
type Client interface {
	Pull(context.Context, wire.PullRequest) (wire.PullReply, error)
	Renew(context.Context, wire.RenewRequest) (wire.RenewReply, error)
	Finish(context.Context, wire.FinishRequest) (wire.FinishReply, error)
	Output(context.Context, wire.OutputReport) (wire.OutputReply, error)
}
