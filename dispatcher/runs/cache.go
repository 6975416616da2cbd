package runs

import (
	"cmp"
	"context"
	"sync"
)

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
