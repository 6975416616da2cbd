package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/api/panda"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/relay"
)

// pandaRoutes serves PanDA's calls beside the native ones. Unless its configuration says who may make them, those may
// that the native API lets in.
func (s *server) pandaRoutes(root chi.Router) {
	c := s.Panda
	if c.Dispatcher == nil {
		return
	}
	c.Dispatcher, c.Log, c.Timeout = deciding{c.Dispatcher, s}, s.log, s.timeout
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

// deciding is the dispatcher of the daemon that decides: pulls and ends are served there, as those of native pilots are. All that
// pilots call is load here, as native calls are; what looks up the lease of an update is part of the update.
type deciding struct {
	panda.Dispatcher
	*server
}

// Pull asks the daemon that decides, again when another one does meanwhile. What it waited it need not wait once more.
func (d deciding) Pull(ctx context.Context, req dispatcher.PullRequest) (dispatcher.PullReply, error) {
	if err := d.letIn(); err != nil {
		return dispatcher.PullReply{}, err
	}
	defer d.load.pulled()
	began, wait := time.Now(), req.WaitS
	for ; ; req.WaitS = max(0, wait-time.Since(began).Seconds()) {
		reply, there, err := askThere[dispatcher.PullReply](ctx, d.server, pathPulls, req, req.RequestID != "")
		if there || err != nil {
			return reply, err
		}
		if reply, err = d.Dispatcher.Pull(ctx, req); !errors.Is(err, dispatcher.ErrHandOn) {
			return reply, err
		}
	}
}

// Finish tells the daemon that decides, or this one when the other cannot be told.
func (d deciding) Finish(ctx context.Context, req dispatcher.FinishRequest) (dispatcher.FinishReply, error) {
	defer d.load.end(d.load.begin())
	reply, there, err := askThere[dispatcher.FinishReply](ctx, d.server, pathFinish, req, true)
	if there || err != nil {
		return reply, err
	}
	return d.Dispatcher.Finish(ctx, req)
}

// Renew, Holdings, Late and KeepLog are served here: the rows of the database say all that they need.
func (d deciding) Renew(ctx context.Context, req dispatcher.RenewRequest) (dispatcher.RenewReply, error) {
	defer d.load.end(d.load.begin())
	return d.Dispatcher.Renew(ctx, req)
}

// Holdings finds the leases of attempts.
func (d deciding) Holdings(ctx context.Context, of []dispatcher.HeldJob) ([]dispatcher.Holding, error) {
	defer d.load.end(d.load.begin())
	return d.Dispatcher.Holdings(ctx, of)
}

// Late notes the end of an attempt that had ended otherwise by then.
func (d deciding) Late(ctx context.Context, job dispatcher.HeldJob, said dispatcher.Result) (noted bool, err error) {
	defer d.load.end(d.load.begin())
	return d.Dispatcher.Late(ctx, job, said)
}

// KeepLog keeps what a payload wrote.
func (d deciding) KeepLog(ctx context.Context, key, log string) error {
	defer d.load.end(d.load.begin())
	return d.Dispatcher.KeepLog(ctx, key, log)
}

// askThere has a request served by another daemon. there is false, without an error, when it is to be served here.
func askThere[T any](ctx context.Context, s *server, path string, req any, again bool) (reply T, there bool, err error) {
	if s.Relay == nil {
		return reply, false, nil
	}
	body, err := json.Marshal(req)
	if err != nil {
		return reply, false, fmt.Errorf("hand on: %w", err)
	}
	got, err := s.handOn(ctx, nil, handed{path, body, again})
	if got == nil || err != nil {
		return reply, false, err
	}
	if err = errorOf(got); err == nil {
		err = json.Unmarshal(got.Body, &reply)
	}
	return reply, true, err
}

// errorOf is what another daemon's answer says went wrong, as the error that it was there.
func errorOf(r *relay.Reply) error {
	switch r.Status {
	case http.StatusOK:
		return nil
	case http.StatusNoContent:
		return dispatcher.ErrNoJobs
	}
	var p Problem
	if err := json.Unmarshal(r.Body, &p); err != nil {
		return fmt.Errorf("the daemon that decides answers %d: %w", r.Status, err)
	}
	for _, k := range known {
		if k.name == p.Code {
			return fmt.Errorf("%w: %s", k.err, p.Detail)
		}
	}
	return &p
}
