package dispatcher

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/divvyhq/divvy/dispatcher/job"
)

// satisfy starts what decisions wait for: reads of windows, takes of escrow.
func (d *Dispatcher) satisfy(n *needs) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for w := range n.windows {
		if !w.filling {
			w.filling = true
			d.toRead = append(d.toRead, w)
		}
	}
	d.startReads()
	for set := range n.narrows {
		if !set.reading {
			set.reading = true
			d.narrow.next = append(d.narrow.next, set)
		}
	}
	d.startNarrowReads()
	d.readGangs(n)
	if n.placing {
		d.placeClaims()
	}
	if n.making {
		d.awaitMaking()
	}
	for l, lacks := range n.limits {
		if !l.taking && !d.outdated {
			l.taking = true
			epoch := d.state.epoch
			d.work.Go(func() { d.take(l, lacks, epoch) })
		}
	}
}

// jobRow is a ready job as the window's reads return it.
type readyRow struct {
	Row        pgtype.TID
	ID         int64
	Place      int64
	TaskID     int64
	Attempt    int32
	Priority   int32
	Idx        int64
	Inputs     []string
	FirstEvent int64
	NEvents    int64
	Claims     []int64
	FirstMade  *time.Time // nil: it tries a piece again
}

func (r readyRow) job() readyJob {
	var made int64
	if r.FirstMade != nil {
		made = r.FirstMade.UnixMilli()
	}
	return readyJob{stand: stand{r.Place, r.ID}, row: r.Row, task: r.TaskID, attempt: r.Attempt, priority: r.Priority,
		piece: job.Piece{Index: r.Idx, Inputs: r.Inputs, FirstEvent: r.FirstEvent, Events: r.NEvents}, claims: r.Claims, made: made}
}

// scanReady reads the rows of one read_on or read_spans, with the same list of targets for all.
func scanReady() pgx.RowToFunc[readyRow] {
	var r readyRow
	into := []any{&r.Row, &r.ID, &r.Place, &r.TaskID, &r.Attempt, &r.Priority, &r.Idx, &r.Inputs, &r.FirstEvent, &r.NEvents, &r.Claims, &r.FirstMade}
	return func(row pgx.CollectableRow) (readyRow, error) {
		r = readyRow{}
		err := row.Scan(into...)
		return r, err
	}
}

// mostReads bounds the reads of windows at the same time: hundreds of cold windows must not crowd out the grants. Windows
// that still have jobs are read one at a time: they run low together, as shares get jobs in proportion, and the grants
// would stand still until all are full again.
const mostReads = 3

// startReads starts what may be read now, windows that decisions wait for first. d.mu is held.
func (d *Dispatcher) startReads() {
	for d.nReads < mostReads && len(d.toRead) > 0 {
		i := slices.IndexFunc(d.toRead, (*window).dry)
		ahead := i < 0
		if ahead {
			if d.readsAhead {
				return
			}
			i = 0
		}
		w := d.toRead[i]
		if w.cold() {
			if cold := d.takeCold(); cold != nil {
				d.nReads++
				d.work.Go(func() {
					d.fillFirst(cold)
					d.mu.Lock()
					defer d.mu.Unlock()
					d.nReads--
					d.startReads()
				})
				continue
			}
		}
		d.toRead = slices.Delete(d.toRead, i, i+1)
		d.nReads++
		d.readsAhead = d.readsAhead || ahead
		d.work.Go(func() {
			began := time.Now()
			d.fill(w)
			d.mu.Lock()
			defer d.mu.Unlock()
			d.nReads--
			if ahead {
				time.AfterFunc(readRest*time.Since(began), d.readAhead)
			}
			d.startReads()
		})
	}
}

// readRest is the rest after a read ahead, in times of what it took: all windows of a site may run low at once.
const readRest = 2

// readAhead lets the next window be read that still has jobs.
func (d *Dispatcher) readAhead() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.readsAhead = false
	if !d.stopping {
		d.startReads()
	}
}

// fill reads what was announced behind the cursor, and on from the cursor when jobs run low.
func (d *Dispatcher) fill(w *window) {
	ctx, cancel := context.WithTimeout(context.Background(), d.cfg.Timing.Statement)
	defer cancel()
	d.mu.Lock()
	if !d.state.has(w) {
		d.mu.Unlock()
		return
	}
	w.putOff()
	var wide int64
	for _, s := range w.behind {
		wide += s.high - s.low
	}
	if wide > 4*windowSize {
		w.rewind()
	}
	read := windowRead{spans: w.behind, from: w.cursor, slice: w.slice, ground: w.ground.at}
	if w.low() {
		read.on = w.next
	}
	switch {
	case !w.wantsGround():
	case w.ground.known:
		read.all = groundRows
	default:
		read.all = w.next
	}
	rewinds := w.rewinds
	w.behind, w.reading = nil, w.behind
	d.state.check(w)
	d.mu.Unlock()

	behind, next, err := d.readWindow(ctx, w.key, read)
	var all []readyRow
	if err == nil && read.all > 0 {
		all, err = d.readOn(ctx, w.key, onwards{from: read.ground, n: read.all})
	}
	if err == nil {
		err = d.preload(ctx, slices.Concat(behind, next, all))
	}
	if err == nil {
		err = d.countFirst(ctx, func(s *state) bool { return s.uncounted(w, behind, next) })
	}

	d.mu.Lock()
	defer d.mu.Unlock()
	w.filling, w.reading = false, nil
	if !d.state.has(w) {
		return
	}
	switch {
	case err != nil:
		w.behind = append(w.behind, read.spans...)
		d.cfg.Log.Warn("ready jobs cannot be read", "share", w.key.share, "err", err)
	case rewinds == w.rewinds:
		w.took(read, d.state.free(behind), d.state.free(next))
		if len(next) > 0 {
			w.cursor = stand{next[len(next)-1].Place, next[len(next)-1].ID}
		}
		if read.on > 0 {
			w.end = len(next) < read.on && len(w.behind) == 0
			w.next = min(2*w.next, windowSize)
		}
		if read.all > 0 {
			d.takeGround(w, all, read.all)
		}
	}
	d.state.check(w)
	d.line.unblock(d, err)
	d.stirWindow(w)
	d.kick()
}

// takeGround hands a look at all slices to the window. d.mu is held.
func (d *Dispatcher) takeGround(w *window, rows []readyRow, asked int) {
	all := make([]readyJob, len(rows))
	for i, r := range rows {
		all[i] = r.job()
	}
	w.tookGround(all, d.state.free(rows), len(rows) == asked)
}

// free are those jobs that were read which no grant of this daemon is about to lease.
func (s *state) free(rows []readyRow) []readyJob {
	free := make([]readyJob, 0, len(rows))
	for _, r := range rows {
		s.elders.saw(r.ID)
		if s.inflight[r.ID] == nil {
			free = append(free, r.job())
		}
	}
	return free
}

// windowRead is what one fill reads.
type windowRead struct {
	slice  slice
	spans  []span
	from   stand
	on     int // so many of the slice on from the cursor
	ground stand
	all    int // so many of all slices on from the ground
}

// onwards is a read in the ready order.
type onwards struct {
	from  stand
	slice slice
	n     int
}

func (d *Dispatcher) readOn(ctx context.Context, key windowKey, o onwards) ([]readyRow, error) {
	return d.readRows(ctx, "read_on", pgx.StrictNamedArgs{"share": int32(key.share), "shape": key.shape,
		"place": o.from.place, "id": o.from.id, "n": o.n, "slices": max(1, o.slice.n), "slice": o.slice.k, "bits": sliceIDs})
}

func (d *Dispatcher) readWindow(ctx context.Context, key windowKey, r windowRead) (behind, next []readyRow, err error) {
	if len(r.spans) > 0 {
		var places, lows, highs []int64
		for _, s := range r.spans {
			places, lows, highs = append(places, s.place), append(lows, s.low), append(highs, s.high)
		}
		args := pgx.StrictNamedArgs{"share": int32(key.share), "shape": key.shape, "places": places, "lows": lows, "highs": highs}
		if behind, err = d.readRows(ctx, "read_spans", args); err != nil {
			return nil, nil, err
		}
	}
	if r.on > 0 {
		next, err = d.readOn(ctx, key, onwards{from: r.from, slice: r.slice, n: r.on})
	}
	return behind, next, err
}

func (d *Dispatcher) readRows(ctx context.Context, verb string, args pgx.StrictNamedArgs) ([]readyRow, error) {
	return byKeyTo(ctx, d, statement{verb, args}, scanReady())
}

// preload has the payloads at hand before the jobs are leased, and the claims before they are decided on.
func (d *Dispatcher) preload(ctx context.Context, rows []readyRow) error {
	tasks := map[int64]bool{}
	claims := false
	for _, r := range rows {
		tasks[r.TaskID] = true
		claims = claims || r.Claims != nil
	}
	if claims {
		if err := d.readClaims(ctx); err != nil {
			return err
		}
	}
	return d.payloads.load(ctx, tasks)
}

// stirWindow wakes the pulls of the queues that may run the window's jobs. d.mu is held.
func (d *Dispatcher) stirWindow(w *window) {
	if w.leaf < 0 {
		return
	}
	if need := w.shape.need.Claims; need.Bound() { // there may be as many waiting elsewhere as there are nodes
		d.line.stirAt(need.Place())
		return
	}
	d.line.stir(func(c *class) bool {
		q := d.state.byName[c.queue]
		// A slot with labels of its own may run what its queue alone may not.
		return q != nil && q.policy.admits(w.leaf) && (w.shape.queues[q.pos] || c.name != c.queue)
	})
}
