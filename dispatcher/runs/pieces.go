package runs

import (
	"context"
	"slices"
	"sync"
)

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
