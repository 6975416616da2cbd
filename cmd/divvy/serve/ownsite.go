package serve

import (
	"context"
	"time"

	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

// ownSite is the store as the API of this daemon has it: when a change is answered, this daemon has taken it on,
// so that whoever made it sees it. The other daemons follow the log.
type ownSite struct {
	*site.Store
	d *Daemon
}

// Apply is the store's, and takes the new version on.
func (s ownSite) Apply(ctx context.Context, r site.ApplyRequest) (site.Applied, error) {
	a, err := s.Store.Apply(ctx, r)
	s.follow(ctx, err)
	return a, err
}

// Rollback is the store's, and takes the new version on.
func (s ownSite) Rollback(ctx context.Context, r site.RollbackRequest) (site.Applied, error) {
	a, err := s.Store.Rollback(ctx, r)
	s.follow(ctx, err)
	return a, err
}

// SetQueueState is the store's, and takes the new state on.
func (s ownSite) SetQueueState(ctx context.Context, name string, state shares.QueueState) error {
	err := s.Store.SetQueueState(ctx, name, state)
	s.follow(ctx, err)
	return err
}

// SetResourceCapacity is the store's, and takes the new capacity on.
func (s ownSite) SetResourceCapacity(ctx context.Context, c site.SetCapacity) error {
	err := s.Store.SetResourceCapacity(ctx, c)
	s.follow(ctx, err)
	return err
}

// followWithin bounds how long a change waits for this daemon to go by it.
const followWithin = 5 * time.Second

// follow waits until this daemon uses what has just been committed. If no daemon leads, the next leader finds it in
// the outbox.
func (s ownSite) follow(ctx context.Context, err error) {
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, followWithin)
	defer cancel()
	if err := s.d.dispatcher.Follow(ctx); err != nil {
		s.d.log.Warn("the change is made; daemons go by it as soon as one leads", "error", err)
	}
}
