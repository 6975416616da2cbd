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

// run reads until there are no more requests.
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

// cache keeps what never changes, by key. To bound memory, what was not used while the newer half filled up goes.
type cache[K cmp.Ordered, V any] struct {
	what string // is kept, for errors
	half int
	rest together[K, V]

	mu       sync.Mutex
	newer    map[K]V
	previous map[K]V
}

func newCache[K cmp.Ordered, V any](what string, half int, read func(ctx context.Context, keys []K) (map[K]V, error)) *cache[K, V] {
	c := &cache[K, V]{what: what, half: half, newer: map[K]V{}}
	c.rest.read = func(ctx context.Context, keys []K) (map[K]V, error) {
		found, err := read(ctx, keys)
		c.mu.Lock()
		defer c.mu.Unlock()
		for k, v := range found {
			c.put(k, v)
		}
		return found, err
	}
	return c
}

// of sets out to the values of keys, and reads those that it has not got. A key without a value is an error.
func (c *cache[K, V]) of(ctx context.Context, keys []K, out []V) error {
	var missing []int
	c.mu.Lock()
	for i, k := range keys {
		var ok bool
		if out[i], ok = c.cached(k); !ok {
			missing = append(missing, i)
		}
	}
	c.mu.Unlock()
	return c.rest.fill(ctx, c.what, keys, missing, out)
}

// cached is a value that is there. c.mu is held.
func (c *cache[K, V]) cached(k K) (V, bool) {
	if v, ok := c.newer[k]; ok {
		return v, true
	}
	v, ok := c.previous[k]
	if ok {
		c.put(k, v)
	}
	return v, ok
}

// put keeps a value. c.mu is held.
func (c *cache[K, V]) put(k K, v V) {
	if len(c.newer) >= c.half {
		c.previous, c.newer = c.newer, make(map[K]V, c.half)
	}
	c.newer[k] = v
}

// pieces has values of jobs by id. Jobs of a task have ids in a row and are mostly given out in that order: those behind a job are read with it,
// and kept until they are asked for.
type pieces[V any] struct {
	rest together[int64, V]

	mu    sync.Mutex
	newer map[int64]V // read ahead
	older map[int64]V // and what was there before newer was full
}

const (
	readAhead = 32     // ids from one that is asked for
	mostAhead = 20_000 // that are kept, twice
)

// newPieces reads ids of spans, which do not overlap; to is behind the last one.
func newPieces[V any](read func(ctx context.Context, from, to []int64) (map[int64]V, error)) *pieces[V] {
	p := &pieces[V]{}
	p.rest.read = func(ctx context.Context, ids []int64) (map[int64]V, error) {
		from, to := spans(ids)
		found, err := read(ctx, from, to)
		p.keep(ids, found)
		return found, err
	}
	return p
}

// of sets out to the values of ids. What is not there is an error. Those of again may have changed since they were last read.
func (p *pieces[V]) of(ctx context.Context, ids []int64, again []bool, out []V) error {
	var missing []int
	p.mu.Lock()
	for i, id := range ids {
		ok := false
		if !again[i] {
			out[i], ok = p.take(id)
		}
		if !ok {
			missing = append(missing, i)
		}
	}
	p.mu.Unlock()
	return p.rest.fill(ctx, "the row of job", ids, missing, out)
}

// take is a value that was read ahead. p.mu is held.
func (p *pieces[V]) take(id int64) (v V, ok bool) {
	for _, kept := range []map[int64]V{p.newer, p.older} {
		if v, ok = kept[id]; ok {
			delete(kept, id)
			break
		}
	}
	return v, ok
}

// spans are the ids that are read for some, which are in order: up to readAhead ids each.
func spans(ids []int64) (from, to []int64) {
	for _, id := range ids {
		if n := len(to); n > 0 {
			to[n-1] = min(to[n-1], id)
		}
		from, to = append(from, id), append(to, id+readAhead)
	}
	return from, to
}

// keep keeps what was read and not asked for.
func (p *pieces[V]) keep(asked []int64, found map[int64]V) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, v := range found {
		if _, is := slices.BinarySearch(asked, id); is {
			continue
		}
		if p.newer == nil || len(p.newer) >= mostAhead {
			p.older, p.newer = p.newer, map[int64]V{}
		}
		p.newer[id] = v
	}
}
