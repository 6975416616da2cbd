package runs

import (
	"context"
	"slices"
	"sync"
)

// cache keeps what never changes, by key. To bound memory, what was not used while the newer half filled up goes.
type cache[K comparable, V any] struct {
	half int
	load func(ctx context.Context, keys []K) (map[K]V, error)

	mu       sync.Mutex
	newer    map[K]V
	previous map[K]V
}

func newCache[K comparable, V any](half int, load func(ctx context.Context, keys []K) (map[K]V, error)) *cache[K, V] {
	return &cache[K, V]{half: half, load: load, newer: map[K]V{}}
}

// of returns the values of keys, and reads those that it has not got by one load. A key without a value is left out.
func (c *cache[K, V]) of(ctx context.Context, keys []K) (map[K]V, error) {
	found := make(map[K]V, len(keys))
	var missing []K
	c.mu.Lock()
	for _, k := range keys {
		if _, ok := found[k]; ok {
			continue
		}
		if v, ok := c.cached(k); ok {
			found[k] = v
		} else if !slices.Contains(missing, k) {
			missing = append(missing, k)
		}
	}
	c.mu.Unlock()
	if len(missing) == 0 {
		return found, nil
	}
	read, err := c.load(ctx, missing)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, v := range read {
		found[k] = v
		c.put(k, v)
	}
	return found, nil
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
