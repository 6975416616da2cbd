package runs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// together reads values by key: all who ask while a statement is under way are answered by the next one.
type together[K cmp.Ordered, V any] struct {
	read func(ctx context.Context, keys []K) (map[K]V, error) // of keys in order, each once. What is not there is left out

	mu   sync.Mutex
	next *reading[K, V] // what gathers while another one is under way; nil: nothing
	busy bool
}

type reading[K cmp.Ordered, V any] struct {
	keys  []K
	done  chan struct{}
	found map[K]V
	err   error
}

const readWithin = 10 * time.Second // for one statement

// fill reads the missing ones of keys, which are given by their places, into out. What is not there is an error.
func (t *together[K, V]) fill(ctx context.Context, what string, keys []K, missing []int, out []V) error {
	if len(missing) == 0 {
		return nil
	}
	ask := make([]K, len(missing))
	for i, at := range missing {
		ask[i] = keys[at]
	}
	found, err := t.of(ctx, ask)
	if err != nil {
		return err
	}
	for i, at := range missing {
		v, ok := found[ask[i]]
		if !ok {
			return fmt.Errorf("%s %v is not in the database", what, ask[i])
		}
		out[at] = v
	}
	return nil
}

// of returns values by key, also those that others asked for: they are only to be read.
func (t *together[K, V]) of(ctx context.Context, keys []K) (map[K]V, error) {
	t.mu.Lock()
	if t.next == nil {
		t.next = &reading[K, V]{done: make(chan struct{})}
	}
	r := t.next
	r.keys = append(r.keys, keys...)
	if !t.busy {
		t.busy = true
		go t.run()
	}
	t.mu.Unlock()
	select {
	case <-r.done:
		return r.found, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// run reads until nobody asks any more.
func (t *together[K, V]) run() {
	for {
		t.mu.Lock()
		r := t.next
		if t.next = nil; r == nil {
			t.busy = false
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
		slices.Sort(r.keys)
		r.keys = slices.Compact(r.keys)
		ctx, cancel := context.WithTimeout(context.Background(), readWithin)
		r.found, r.err = t.read(ctx, r.keys)
		cancel()
		close(r.done)
	}
}
