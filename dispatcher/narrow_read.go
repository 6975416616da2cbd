package dispatcher

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// narrowReads are the reads for narrow pulls: a few at a time, so that they do not crowd out the grants.
type narrowReads struct {
	next     []*narrow
	underWay int
}

// startNarrowReads starts what may be read now. d.mu is held.
func (d *Dispatcher) startNarrowReads() {
	r := &d.narrow
	for r.underWay < mostNarrowReads && len(r.next) > 0 {
		set := r.next[0]
		r.next = r.next[1:]
		r.underWay++
		d.work.Go(func() {
			d.fillNarrow(set)
			d.mu.Lock()
			defer d.mu.Unlock()
			r.underWay--
			d.startNarrowReads()
		})
	}
}

func (d *Dispatcher) fillNarrow(set *narrow) {
	ctx, cancel := context.WithTimeout(context.Background(), d.cfg.Timing.Statement)
	defer cancel()
	d.mu.Lock()
	began := time.Now()
	all := &d.state.narrows // join may put another state in the place of this one
	all.reading[set] = true
	r := set.begin(began)
	d.mu.Unlock()

	found, err := d.readNarrow(ctx, set.key, r)
	if err == nil && slices.ContainsFunc(found.rows, func(r narrowRow) bool { return r.Claims != nil }) {
		err = d.readClaims(ctx)
	}
	if err == nil {
		err = d.countFirst(ctx, func(s *state) bool { return s.uncountedOf(found.rows) })
	}

	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil && slices.ContainsFunc(found.rows, func(r narrowRow) bool { return d.state.shapes[r.ShapeID] == nil }) {
		err = d.state.loadShapes(ctx, d.cfg.Pool) // rarely: jobs of a new kind
	}
	if err == nil {
		all.learn(set, found.tasks, r.seen)
		set.end(d.state, r, found)
		set.took = time.Since(began)
	} else {
		set.stale, set.whole = true, r.whole
		d.cfg.Log.Warn("ready jobs of one task or user cannot be read", "task", set.key.task, "user", set.key.user, "err", err)
	}
	delete(all.reading, set)
	set.reading, set.gone, set.lowered = false, nil, nil
	d.line.unblockNarrow(d, set.key, err)
	d.kick()
}

// begin is what the next read is to bring.
func (set *narrow) begin(now time.Time) narrowRead {
	r := narrowRead{seen: slices.Collect(maps.Keys(set.seen)), n: set.rows, whole: set.whole}
	if now.Sub(set.healed) > narrowHealed {
		set.froms, set.healed = nil, now
	}
	r.froms = maps.Clone(set.froms)
	set.stale, set.whole, set.gone, set.lowered = false, false, map[int64]bool{}, map[int64]int64{}
	return r
}

// lower notes that jobs of a task became ready, from an id on.
func (set *narrow) lower(task, id int64) {
	if from, ok := set.froms[task]; ok {
		set.froms[task] = min(from, id)
	}
	if set.lowered == nil {
		return
	}
	if before, ok := set.lowered[task]; ok {
		id = min(id, before)
	}
	set.lowered[task] = id
}

// narrowRow is a ready job with what its window follows from.
type narrowRow struct {
	readyRow
	ShareID shares.ShareID
	ShapeID int32
}

func scanNarrow(row pgx.CollectableRow) (r narrowRow, err error) {
	err = row.Scan(&r.Row, &r.ID, &r.Place, &r.TaskID, &r.Attempt, &r.Priority, &r.Idx, &r.Inputs, &r.FirstEvent, &r.NEvents, &r.Claims, &r.FirstMade, &r.ShareID, &r.ShapeID)
	return r, err
}

// narrowRead is what one fill reads.
type narrowRead struct {
	seen  []int64 // tasks of which it must be found out whose they are
	n     int     // jobs of a task, or of a share and shape
	whole bool    // of every share and shape
	froms map[int64]int64
}

// narrowFound is what it finds.
type narrowFound struct {
	tasks []int64
	rows  []narrowRow    // share by share and shape by shape, in order
	more  map[int64]bool // tasks that have more jobs than these
}

func (d *Dispatcher) readNarrow(ctx context.Context, key narrowKey, r narrowRead) (found narrowFound, err error) {
	tasks, err := d.narrowTasks(ctx, key, r.seen)
	if err != nil || len(tasks) == 0 {
		return found, err
	}
	froms, ns, most := make([]int64, len(tasks)), make([]int32, len(tasks)), map[int64]int{}
	for i, t := range tasks {
		if ns[i] = fewTaskRows; t.Nth <= firstTasks {
			ns[i] = int32(r.n)
		}
		found.tasks, froms[i], most[t.ID] = append(found.tasks, t.ID), r.froms[t.ID], int(ns[i])
	}
	st := statement{"read_narrow", pgx.StrictNamedArgs{"tasks": found.tasks, "froms": froms, "ns": ns}}
	if r.whole {
		st = statement{"read_narrow_all", pgx.StrictNamedArgs{"tasks": found.tasks, "n": r.n}}
	}
	if found.rows, err = byKeyTo(ctx, d, st, scanNarrow); err != nil {
		return narrowFound{}, err
	}
	of, with := map[int64]int{}, map[int64]bool{}
	found.more = map[int64]bool{}
	for _, row := range found.rows {
		with[row.TaskID] = true
		if of[row.TaskID]++; !r.whole && of[row.TaskID] == most[row.TaskID] {
			found.more[row.TaskID] = true
		}
	}
	return found, d.payloads.load(ctx, with)
}

// narrowTask is a task with its place among those of its share, best first.
type narrowTask struct {
	ID  int64
	Nth int64
}

// narrowTasks are the tasks whose jobs the pulls take, as far as they may have any.
func (d *Dispatcher) narrowTasks(ctx context.Context, key narrowKey, seen []int64) ([]narrowTask, error) {
	if key.user == "" {
		return []narrowTask{{key.task, 1}}, nil
	}
	if key.task != 0 {
		seen = []int64{key.task}
	}
	args := pgx.StrictNamedArgs{"user": key.user, "seen": append([]int64{}, seen...)}
	tasks, err := collect[narrowTask](ctx, d.cfg.Pool, "narrow_tasks", args)
	if err == nil && key.task != 0 {
		tasks = slices.DeleteFunc(tasks, func(t narrowTask) bool { return t.ID != key.task })
	}
	return tasks, err
}

// end makes the windows anew of what was read.
func (set *narrow) end(s *state, r narrowRead, found narrowFound) {
	set.known, set.at, set.windows, set.leaves, set.kinds = true, time.Now(), map[windowKey]*window{}, map[int][]*window{}, map[string]*contenders{}
	set.more = len(found.more) > 0
	if r.whole {
		set.has = map[windowKey]bool{}
	}
	lasts := map[*window]map[int64]stand{} // of tasks that have more
	n := map[*window]int{}
	for _, row := range found.rows {
		w := set.window(s, windowKey{row.ShareID, row.ShapeID})
		if w == nil {
			continue
		}
		if n[w]++; set.more || r.whole && n[w] == r.n {
			w.end, w.ready = false, 1 // there may be more
		}
		if r.whole {
			set.has[w.key] = true
		}
		job := row.job()
		if found.more[row.TaskID] {
			if lasts[w] == nil {
				lasts[w] = map[int64]stand{}
			}
			lasts[w][row.TaskID] = job.stand
		}
		if !set.gone[row.ID] && s.inflight[row.ID] == nil {
			w.jobs = append(w.jobs, job)
		}
	}
	for w, of := range lasts {
		w.cut(of)
	}
	if !r.whole {
		set.begins(found)
	}
	if set.short {
		set.rows, set.short = min(2*set.rows, mostNarrowRows), false
	}
}

// cut takes out what may come after jobs that were not read: the first of those is behind the last one of some task.
func (w *window) cut(lasts map[int64]stand) {
	sure := stand{place: math.MaxInt64}
	for _, last := range lasts {
		if last.before(sure) {
			sure = last
		}
	}
	w.jobs = slices.DeleteFunc(w.jobs, func(j readyJob) bool { return sure.before(j.stand) })
}

// begins notes where the tasks have their first ready jobs.
func (set *narrow) begins(found narrowFound) {
	set.froms = make(map[int64]int64, len(found.tasks))
	for _, task := range found.tasks {
		set.froms[task] = math.MaxInt64
	}
	for _, row := range found.rows {
		set.froms[row.TaskID] = min(set.froms[row.TaskID], row.ID)
	}
	for task, id := range set.lowered {
		set.lower(task, id)
	}
}

// window finds or makes one of the narrow's; nil where the site has no such share, or not any more.
func (set *narrow) window(s *state, key windowKey) *window {
	if w := set.windows[key]; w != nil {
		return w
	}
	leaf, ok := s.version.Tree.ByID(key.share)
	sh := s.shapes[key.shape]
	if !ok || sh == nil || !s.version.Tree.Leaf(leaf) {
		return nil
	}
	w := newWindow(key, sh)
	w.private, w.leaf, w.end = true, leaf, true
	set.windows[key], set.leaves[leaf] = w, append(set.leaves[leaf], w)
	return w
}
