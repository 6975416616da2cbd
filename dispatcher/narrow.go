package dispatcher

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// narrowKey is what a pull of one task or user takes; zero: any job.
type narrowKey struct {
	task int64
	user string
}

// narrow is the ready jobs of one task or user, beside the common windows, for the few pulls that take no others. It has
// windows of its own, which are read by task and all at once. Their jobs are in the common windows as well: a grant takes a
// job out of both, and one that another daemon was given is sorted out when it is leased. Guarded by Dispatcher.mu.
type narrow struct {
	key     narrowKey
	windows map[windowKey]*window
	leaves  map[int][]*window // by node
	kinds   map[string]*contenders

	known   bool           // it was read
	stale   bool           // since then one of its jobs became ready, or ceased to be
	reading bool           // or will be
	rows    int            // of a share and shape that are read at once
	short   bool           // they did not do
	gone    map[int64]bool // jobs that were granted while it is read
	at      time.Time      // when it was read
	used    time.Time

	tasks  map[int64]bool // of the user, that had jobs or may have some
	others map[int64]bool // that had jobs and are not among these
	seen   map[int64]bool // that had jobs; whose they are is not known yet
}

const (
	fewNarrowRows   = 250                    // of a share and shape in the first read; twice as many after these did not do,
	mostNarrowRows  = 1000                   // up to this
	narrowEvery     = 100 * time.Millisecond // how long a job that became ready may be passed over for others that are there
	narrowKept      = time.Minute            // without a pull
	mostNarrows     = 1000
	mostNarrowReads = 2
	mostOthers      = 1 << 16
)

// wanted says whether it must be read before a decision.
func (set *narrow) wanted() bool { return !set.known || set.stale && time.Since(set.at) > narrowEvery }

// narrow notes that a decision waits for a read.
func (n *needs) narrow(set *narrow) {
	if n.narrows == nil {
		n.narrows = map[*narrow]bool{}
	}
	n.narrows[set] = true
}

// contendersFor is the set for a kind of slot, as its windows are now.
func (set *narrow) contendersFor(s *state, q *queue, in bits, key string) *contenders {
	c := set.kinds[key]
	if c == nil {
		c = s.noContenders(q, in)
		c.among, set.kinds[key] = set, c
	}
	for leaf := range set.leaves {
		c.review(leaf)
	}
	return c
}

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
	set.stale, set.gone = false, map[int64]bool{}
	all := &d.state.narrows // join may put another state in the place of this one
	all.reading[set] = true
	seen, n := slices.Collect(maps.Keys(set.seen)), set.rows
	d.mu.Unlock()

	tasks, rows, err := d.readNarrow(ctx, set.key, narrowRead{seen, n})
	if err == nil && slices.ContainsFunc(rows, func(r narrowRow) bool { return r.Claims != nil }) {
		err = d.readClaims(ctx)
	}

	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil && slices.ContainsFunc(rows, func(r narrowRow) bool { return d.state.shapes[r.ShapeID] == nil }) {
		err = d.state.loadShapes(ctx, d.cfg.Pool) // rarely: jobs of a new kind
	}
	if err == nil {
		all.learn(set, tasks, seen)
		set.took(d.state, rows)
	} else {
		set.stale = true
		d.cfg.Log.Warn("ready jobs of one task or user cannot be read", "task", set.key.task, "user", set.key.user, "err", err)
	}
	delete(all.reading, set)
	set.reading, set.gone = false, nil
	d.line.unblockNarrow(d, set.key, err)
	d.kick()
}

// narrowRow is a ready job with what its window follows from.
type narrowRow struct {
	readyRow
	ShareID shares.ShareID
	ShapeID int32
}

func scanNarrow(row pgx.CollectableRow) (r narrowRow, err error) {
	err = row.Scan(&r.Row, &r.ID, &r.Place, &r.TaskID, &r.Attempt, &r.Priority, &r.Idx, &r.Inputs, &r.FirstEvent, &r.NEvents, &r.Claims, &r.ShareID, &r.ShapeID)
	return r, err
}

// narrowRead is what one fill reads.
type narrowRead struct {
	seen []int64 // tasks of which it must be found out whose they are
	n    int     // jobs of a share and shape
}

func (d *Dispatcher) readNarrow(ctx context.Context, key narrowKey, r narrowRead) (tasks []int64, rows []narrowRow, err error) {
	if tasks, err = d.narrowTasks(ctx, key, r.seen); err != nil || len(tasks) == 0 {
		return tasks, nil, err
	}
	args := pgx.StrictNamedArgs{"tasks": tasks, "n": r.n}
	if rows, err = byKeyTo(ctx, d, statement{"read_narrow", args}, scanNarrow); err != nil {
		return nil, nil, err
	}
	with := map[int64]bool{}
	for _, r := range rows {
		with[r.TaskID] = true
	}
	return tasks, rows, d.payloads.load(ctx, with)
}

// narrowTasks are the tasks whose jobs the pulls take, as far as they may have any.
func (d *Dispatcher) narrowTasks(ctx context.Context, key narrowKey, seen []int64) ([]int64, error) {
	if key.user == "" {
		return []int64{key.task}, nil
	}
	if key.task != 0 {
		seen = []int64{key.task}
	}
	rows, err := d.cfg.Pool.Query(ctx, query["narrow_tasks"], pgx.StrictNamedArgs{"user": key.user, "seen": append([]int64{}, seen...)})
	if err != nil {
		return nil, err
	}
	tasks, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err == nil && key.task != 0 {
		tasks = slices.DeleteFunc(tasks, func(task int64) bool { return task != key.task })
	}
	return tasks, err
}

// took makes the windows anew of what was read: in order, share by share and shape by shape.
func (set *narrow) took(s *state, rows []narrowRow) {
	set.known, set.at, set.windows, set.leaves, set.kinds = true, time.Now(), map[windowKey]*window{}, map[int][]*window{}, map[string]*contenders{}
	n := map[*window]int{}
	for _, r := range rows {
		w := set.window(s, windowKey{r.ShareID, r.ShapeID})
		if w == nil {
			continue
		}
		if n[w]++; n[w] == set.rows {
			w.end, w.ready = false, 1 // there may be more
		}
		if !set.gone[r.ID] && s.inflight[r.ID] == nil {
			w.jobs = append(w.jobs, r.job())
		}
	}
	if set.short {
		set.rows, set.short = min(2*set.rows, mostNarrowRows), false
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

// unblockNarrow wakes the classes that waited for a read of their narrow; with an error they are answered with it.
func (l *line) unblockNarrow(d *Dispatcher, key narrowKey, err error) {
	for _, c := range l.classes {
		if !c.blocked || c.only != key {
			continue
		}
		c.blocked = false
		if err != nil {
			c.refuse(d, err)
		}
		l.wake(c)
	}
}

// lookAtNarrows drops those that nobody asks for any more, and has pulls tried again whose jobs may be others by now.
// d.mu is held.
func (d *Dispatcher) lookAtNarrows(now time.Time) {
	stale := false
	for _, set := range d.state.narrows.by {
		if stale = stale || set.stale; now.Sub(set.used) > narrowKept {
			d.state.narrows.drop(set)
		}
	}
	if stale {
		d.line.stir(func(c *class) bool {
			set := d.state.narrows.by[c.only]
			return set != nil && set.stale
		})
	}
}
