package api

import (
	"context"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/api/panda"
	"github.com/divvyhq/divvy/dispatcher"
)

// pandaRoutes serves PanDA's calls to the callers that the native API admits.
func (s *server) pandaRoutes(root chi.Router) {
	c := s.Panda
	if c.Dispatcher == nil {
		return
	}
	c.Dispatcher, c.Log, c.Timeout, c.Callers = loaded{c.Dispatcher, s}, s.log, s.timeout, s.entrance
	panda.Routes(root, c)
}

// loaded counts PanDA's calls of pilots as load, like native calls. The look-up of the lease is part of an update.
type loaded struct {
	panda.Dispatcher
	*server
}

// Pull is admitted or refused like a native pull.
func (d loaded) Pull(ctx context.Context, req dispatcher.PullRequest) (dispatcher.PullReply, error) {
	if err := d.load.Pull(); err != nil {
		return dispatcher.PullReply{}, err
	}
	defer d.load.Pulled()
	return d.Dispatcher.Pull(ctx, req)
}

// Finish counts as load, like the four methods below.
func (d loaded) Finish(ctx context.Context, req dispatcher.FinishRequest) (dispatcher.FinishReply, error) {
	defer d.load.End(d.load.Begin())
	return d.Dispatcher.Finish(ctx, req)
}

// Renew renews leases.
func (d loaded) Renew(ctx context.Context, req dispatcher.RenewRequest) (dispatcher.RenewReply, error) {
	defer d.load.End(d.load.Begin())
	return d.Dispatcher.Renew(ctx, req)
}

// Holdings finds the leases of attempts.
func (d loaded) Holdings(ctx context.Context, of []dispatcher.HeldJob) ([]dispatcher.Holding, error) {
	defer d.load.End(d.load.Begin())
	return d.Dispatcher.Holdings(ctx, of)
}

// Late records the end of an attempt that had ended otherwise before.
func (d loaded) Late(ctx context.Context, job dispatcher.HeldJob, said dispatcher.Result) (noted bool, err error) {
	defer d.load.End(d.load.Begin())
	return d.Dispatcher.Late(ctx, job, said)
}

// KeepLog stores what a payload wrote.
func (d loaded) KeepLog(ctx context.Context, key, log string) error {
	defer d.load.End(d.load.Begin())
	return d.Dispatcher.KeepLog(ctx, key, log)
}
