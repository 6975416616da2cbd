package web

import (
	"sync"
	"time"
)

// brief keeps answers that cost more than a glance for some seconds: however many look, one question in that time must do.
type brief[T any] struct {
	lasts time.Duration

	mu   sync.Mutex
	kept map[int64]kept[T]
}

type kept[T any] struct {
	value T
	until time.Time
}

// How long: an explanation counts the jobs before one, and where the jobs of a task may run is found by looking at them.
const (
	explainLasts = 3 * time.Second
	placesLast   = 10 * time.Second
)

// mostBrief bounds the answers that are kept.
const mostBrief = 1000

// forget drops all that is kept: it has just been changed.
func (b *brief[T]) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.kept)
}

// get is the answer for an id; ask is called when there is none that is fresh. An error is not kept.
func (b *brief[T]) get(id int64, ask func() (T, error)) (T, error) {
	now := time.Now()
	b.mu.Lock()
	k, there := b.kept[id]
	b.mu.Unlock()
	if there && now.Before(k.until) {
		return k.value, nil
	}
	value, err := ask()
	if err != nil {
		return value, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept == nil {
		b.kept = map[int64]kept[T]{}
	}
	if len(b.kept) >= mostBrief {
		for other, k := range b.kept {
			if now.After(k.until) || len(b.kept) >= mostBrief {
				delete(b.kept, other)
			}
		}
	}
	b.kept[id] = kept[T]{value, now.Add(b.lasts)}
	return value, nil
}
