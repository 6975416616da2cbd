package web

import (
	"context"
	"fmt"
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

// hasShare says whether the tree has a share. It looks again where it did not know it a moment ago.
func (t *tree) hasShare(ctx context.Context, path string) bool {
	t.shares.mu.Lock()
	last := t.shares.last
	t.shares.mu.Unlock()
	return inStanding(last, path) || inStanding(t.standing(ctx), path)
}

func inStanding(st dispatcher.Standing, path string) bool {
	for _, pool := range st.Pools {
		for i := range pool.Shares {
			if pool.Shares[i].Path == path {
				return true
			}
		}
	}
	return false
}

func (t *tree) shareNames(ctx context.Context) (names []string) {
	if pools := t.standing(ctx).Pools; len(pools) > 0 { // each has all
		for i := range pools[0].Shares {
			names = append(names, pools[0].Shares[i].Path)
		}
	}
	return names
}

// noShare says that a path leads to no share.
func (t *tree) noShare(ctx context.Context, path string) error {
	return fmt.Errorf("%w: no share has the path %q%s; the page / has all of them", ErrNoPage, path, nearTo(path, t.shareNames(ctx)))
}

func (t *tree) standing(ctx context.Context) dispatcher.Standing {
	s := &t.shares
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.took) > standingLasts {
		s.last, s.took = t.dispatcher.Outlook(ctx), time.Now()
	}
	return s.last
}
