package dispatcher

import (
	"maps"
	"slices"
	"time"
)

// narrows are the narrow of all pulls, by what they take and by task. Guarded by Dispatcher.mu.
type narrows struct {
	by      map[narrowKey]*narrow
	of      map[int64][]*narrow // those that have jobs of a task, or may have some
	users   map[*narrow]bool    // those whose tasks are not known once and for all
	reading map[*narrow]bool
}

func newNarrows() narrows {
	return narrows{map[narrowKey]*narrow{}, map[int64][]*narrow{}, map[*narrow]bool{}, map[*narrow]bool{}}
}

// among is the narrow that a pull is served from; nil: the common windows.
func (all *narrows) among(p *pull) *narrow {
	key := narrowOf(p.req.Only)
	if key == (narrowKey{}) {
		return nil
	}
	set := all.by[key]
	if set == nil {
		set = all.add(key)
	}
	set.used = time.Now()
	return set
}

func (all *narrows) add(key narrowKey) *narrow {
	if len(all.by) >= mostNarrows {
		all.drop(slices.MinFunc(slices.Collect(maps.Values(all.by)), func(a, b *narrow) int { return a.used.Compare(b.used) }))
	}
	set := &narrow{key: key, rows: fewNarrowRows, tasks: map[int64]bool{}, others: map[int64]bool{}, seen: map[int64]bool{}}
	all.by[key] = set
	if key.task != 0 {
		all.index(set, []int64{key.task})
	} else {
		all.users[set] = true
	}
	return set
}

// drop forgets one; where pulls wait for it, it is made anew.
func (all *narrows) drop(set *narrow) {
	all.index(set, nil)
	delete(all.users, set)
	delete(all.by, set.key)
}

// index notes which tasks it has jobs of.
func (all *narrows) index(set *narrow, tasks []int64) {
	for task := range set.tasks {
		all.of[task] = slices.DeleteFunc(all.of[task], func(s *narrow) bool { return s == set })
		if len(all.of[task]) == 0 {
			delete(all.of, task)
		}
	}
	clear(set.tasks)
	for _, task := range tasks {
		set.tasks[task] = true
		all.of[task] = append(all.of[task], set)
	}
}

// learn notes whose the tasks are that were seen to have jobs, after a read.
func (all *narrows) learn(set *narrow, tasks, seen []int64) {
	if !all.users[set] {
		return
	}
	all.index(set, tasks)
	if len(set.others) > mostOthers {
		clear(set.others)
	}
	for _, task := range seen {
		delete(set.seen, task)
		if !set.tasks[task] {
			set.others[task] = true
		}
	}
}

// moved looks for whom a move of ready jobs changes what is to be had.
func (all *narrows) moved(m move) {
	if len(all.by) == 0 || m.Before == isReady && m.After == isLeased {
		return // a grant of our own is noted by gone, one of another daemon shows when the job is to be leased
	}
	for _, set := range all.of[m.Task] {
		set.moved(m)
	}
	for set := range all.users {
		if !set.tasks[m.Task] && !set.others[m.Task] {
			set.moved(m)
			set.seen[m.Task] = true
		}
	}
}

// moved notes a move of jobs that it has, or may have.
func (set *narrow) moved(m move) {
	set.stale = true
	if m.After != isReady {
		return
	}
	if set.has != nil {
		set.has[windowKey{m.Share, m.Shape}] = true
	}
	if m.High > 0 {
		set.lower(m.Task, m.Low)
	} else {
		set.lower(m.Task, 0)
	}
}

// gone takes a job that was granted out of all windows but the one that it came from.
func (s *state) gone(g *grant) {
	for set := range s.narrows.reading {
		set.gone[g.job.id] = true
	}
	for _, set := range s.narrows.of[g.job.task] {
		if w := set.windows[g.window.key]; w != nil && w != g.window {
			w.drop(g.job.stand)
		}
	}
	if w := s.windows[g.window.key]; w != nil && w != g.window {
		w.drop(g.job.stand)
		s.check(w)
	}
}
