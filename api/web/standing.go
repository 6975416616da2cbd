package web

import (
	"context"
	"sync"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
)

// standings keeps the standing of the shares for a moment: a solve of a thousand shares holds the dispatcher's lock, and
// however many look at however many of them, one a moment must do.
type standings struct {
	mu   sync.Mutex
	last dispatcher.Standing
	took time.Time
}

const standingLasts = 800 * time.Millisecond

func (p *Page) standing(ctx context.Context) dispatcher.Standing {
	s := &p.shares
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.took) > standingLasts {
		s.last, s.took = p.cfg.Dispatcher.Outlook(ctx), time.Now()
	}
	return s.last
}
