package pilot

import (
	"context"

	wire "github.com/divvyhq/divvy/api/client"
)

// Client is the server as the pilot sees it; api/client has it.
type Client interface {
	Pull(context.Context, wire.PullRequest) (wire.PullReply, error)
	Renew(context.Context, wire.RenewRequest) (wire.RenewReply, error)
	Finish(context.Context, wire.FinishRequest) (wire.FinishReply, error)
}

// What a pilot says on the wire.
const (
	starting wire.LeaseState = "starting"
	running  wire.LeaseState = "running"
	draining wire.LeaseState = "draining"

	finished  wire.Outcome = "finished"
	failed    wire.Outcome = "failed"
	cancelled wire.Outcome = "cancelled"

	leaseLost = "lease_lost"
)
