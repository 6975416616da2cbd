package api

import (
	"context"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/api/panda"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/access"
)

// pandaRoutes serves PanDA's calls beside the native ones. Unless its configuration says who may make them, those may
// that the native API lets in.
func (s *server) pandaRoutes(root chi.Router) {
	c := s.Panda
	if c.Dispatcher == nil {
		return
	}
	c.Dispatcher, c.Log, c.Timeout = loaded{c.Dispatcher, s}, s.log, s.timeout
	if c.Guard == nil {
		who := &panda.Access{Anyone: !s.closed, Operator: Steers(s.book)}
		c.Guard = who.Guard
	}
	panda.Routes(root, c)
}

// Steers is the name of a token that may do on PanDA's API what operators do; "" = it may not.
func Steers(book *access.Book) func(token string) (name string) {
	return func(token string) string {
		if c := book.Find(token); c != nil && c.Is(access.Operator, access.Admin) {
			return c.Name
		}
		return ""
	}
}

// loaded is the dispatcher of PanDA's calls. All that pilots call is load here, as native calls are; what looks up the lease of an update is
// part of the update.
type loaded struct {
	panda.Dispatcher
	*server
}

// Pull is let in, or refused, as a native one.
func (d loaded) Pull(ctx context.Context, req dispatcher.PullRequest) (dispatcher.PullReply, error) {
	if err := d.letIn(); err != nil {
		return dispatcher.PullReply{}, err
	}
	defer d.load.pulled()
	return d.Dispatcher.Pull(ctx, req)
}

// Finish is load, as are the four below.
func (d loaded) Finish(ctx context.Context, req dispatcher.FinishRequest) (dispatcher.FinishReply, error) {
	defer d.load.end(d.load.begin())
	return d.Dispatcher.Finish(ctx, req)
}

// Renew keeps leases.
func (d loaded) Renew(ctx context.Context, req dispatcher.RenewRequest) (dispatcher.RenewReply, error) {
	defer d.load.end(d.load.begin())
	return d.Dispatcher.Renew(ctx, req)
}

// Holdings finds the leases of attempts.
func (d loaded) Holdings(ctx context.Context, of []dispatcher.HeldJob) ([]dispatcher.Holding, error) {
	defer d.load.end(d.load.begin())
	return d.Dispatcher.Holdings(ctx, of)
}

// Late notes the end of an attempt that had ended otherwise by then.
func (d loaded) Late(ctx context.Context, job dispatcher.HeldJob, said dispatcher.Result) (noted bool, err error) {
	defer d.load.end(d.load.begin())
	return d.Dispatcher.Late(ctx, job, said)
}

// KeepLog keeps what a payload wrote.
func (d loaded) KeepLog(ctx context.Context, key, log string) error {
	defer d.load.end(d.load.begin())
	return d.Dispatcher.KeepLog(ctx, key, log)
}
