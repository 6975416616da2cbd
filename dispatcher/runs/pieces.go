package runs

import (
	"context"
	"slices"
	"sync"
	"time"
)

// pieces has values of jobs by id. Jobs of a task have ids in a row and are mostly given out in that order: those behind a job are read with it,
// and kept until they are asked for. All who ask at the same time are answered by one statement.
type pieces[V any] struct {
	read func(ctx context.Context, from, to []int64) (map[int64]V, error) // of the ids of some spans, which do not overlap; to is behind the last one

	mu    sync.Mutex
	newer map[int64]V // read ahead
	older map[int64]V // and what was there before newer was full
	next  *reading[V] // what gathers while another one is under way; nil: nothing
	busy  bool
}

type reading[V any] struct {
	ids   []int64
	done  chan struct{}
	found map[int64]V
	err   error
}

const (
	readWithin = 10 * time.Second // for one statement
	readAhead  = 16               // ids from one that is asked for
	mostAhead  = 20_000           // that are kept, twice
)

// of returns values by id, perhaps with those of other ids; what is not there is left out. Those of again may have changed since they were last
// read.
func (p *pieces[V]) of(ctx context.Context, first, again []int64) (map[int64]V, error) {
	found, missing := make(map[int64]V, len(first)+len(again)), slices.Clone(again)
	p.mu.Lock()
	for _, id := range first {
		if v, ok := p.newer[id]; ok {
			found[id] = v
			delete(p.newer, id)
		} else if v, ok := p.older[id]; ok {
			found[id] = v
			delete(p.older, id)
		} else {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		p.mu.Unlock()
		return found, nil
	}
	if p.next == nil {
		p.next = &reading[V]{done: make(chan struct{})}
	}
	r := p.next
	r.ids = append(r.ids, missing...)
	if !p.busy {
		p.busy = true
		go p.run()
	}
	p.mu.Unlock()
	select {
	case <-r.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for _, id := range missing {
		if v, ok := r.found[id]; ok {
			found[id] = v
		}
	}
	return found, r.err
}

// run reads until nobody asks any more.
func (p *pieces[V]) run() {
	for {
		p.mu.Lock()
		r := p.next
		if p.next = nil; r == nil {
			p.busy = false
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		slices.Sort(r.ids)
		from, to := spans(r.ids)
		ctx, cancel := context.WithTimeout(context.Background(), readWithin)
		r.found, r.err = p.read(ctx, from, to)
		cancel()
		p.keep(r)
		close(r.done)
	}
}

// spans are the ids that are read for some, which are in order: up to readAhead ids each.
func spans(ids []int64) (from, to []int64) {
	for _, id := range slices.Compact(slices.Clone(ids)) {
		if n := len(to); n > 0 {
			to[n-1] = min(to[n-1], id)
		}
		from, to = append(from, id), append(to, id+readAhead)
	}
	return from, to
}

// keep keeps what was read and not asked for.
func (p *pieces[V]) keep(r *reading[V]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, v := range r.found {
		if _, asked := slices.BinarySearch(r.ids, id); asked {
			continue
		}
		if p.newer == nil || len(p.newer) >= mostAhead {
			p.older, p.newer = p.newer, map[int64]V{}
		}
		p.newer[id] = v
	}
}
