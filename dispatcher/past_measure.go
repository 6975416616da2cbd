package dispatcher

import (
	"maps"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// measureEvery is how often what shares hold is added up.
const measureEvery = time.Second

// measure adds up what is held until a moment.
func (p *past) measure(at time.Time) {
	if at = earlier(at, p.Until); at.Before(p.Since) || !p.meter.Due(at, measureEvery) {
		return
	}
	was := books(p.state)
	now := was
	if p.rival != nil {
		now = books(p.rival.state)
	}
	p.meter.Until(at, was, now)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// books are the pools of a state.
func books(s *state) (list []*shares.Pool) {
	for pool := range maps.Values(s.pools) {
		list = append(list, pool.book)
	}
	return list
}
