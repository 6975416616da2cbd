package dispatcher

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
)

// Where jobs ask for resources, or users have turns, there may be a window for every user, with a few jobs each: those of which nothing was read
// yet are read many at a time.
const (
	mostFirst = 64 // windows
	firstFew  = 32 // jobs of each
)

// cold says whether nothing was read of a window, and nothing is known of it but that it has jobs.
func (w *window) cold() bool {
	return w.shape.headed && w.slice.all() && w.cursor.place == minPlace && len(w.jobs) == 0 && len(w.behind) == 0 && !w.end
}

// takeCold takes cold windows out of those that are to be read; none when there is just one.
func (d *Dispatcher) takeCold() (cold []*window) {
	for _, w := range d.toRead {
		if len(cold) < mostFirst && w.cold() {
			cold = append(cold, w)
		}
	}
	if len(cold) < 2 {
		return nil
	}
	taken := make(map[*window]bool, len(cold))
	for _, w := range cold {
		taken[w] = true
	}
	d.toRead = slices.DeleteFunc(d.toRead, func(w *window) bool { return taken[w] })
	return cold
}

// firstRow is a ready job of the nth window that was asked for, from 1.
type firstRow struct {
	nth int
	readyRow
}

func scanFirst(row pgx.CollectableRow) (r firstRow, err error) {
	err = row.Scan(&r.nth, &r.Row, &r.ID, &r.Place, &r.TaskID, &r.Attempt, &r.Priority, &r.Idx, &r.Inputs, &r.FirstEvent, &r.NEvents, &r.Claims, &r.FirstMade)
	return r, err
}

// fillFirst reads the first jobs of cold windows.
func (d *Dispatcher) fillFirst(ws []*window) {
	ctx, cancel := context.WithTimeout(context.Background(), d.cfg.Timing.Statement)
	defer cancel()
	args := pgx.StrictNamedArgs{"n": firstFew}
	ofShares, shapes, turns := make([]int32, len(ws)), make([]int32, len(ws)), make([]int, len(ws))
	d.mu.Lock()
	for i, w := range ws {
		ofShares[i], shapes[i], turns[i] = int32(w.key.share), w.key.shape, w.rewinds
	}
	d.mu.Unlock()
	args["shares"], args["shapes"] = ofShares, shapes
	rows, err := byKeyTo(ctx, d, statement{"read_first", args}, scanFirst)
	of, all := make([][]readyRow, len(ws)), make([]readyRow, len(rows))
	for i, r := range rows {
		of[r.nth-1], all[i] = append(of[r.nth-1], r.readyRow), r.readyRow
	}
	if err == nil {
		err = d.preload(ctx, all)
	}
	if err == nil {
		err = d.countFirst(ctx, func(s *state) bool {
			for i, w := range ws {
				if s.uncounted(w, of[i]) {
					return true
				}
			}
			return false
		})
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.cfg.Log.Warn("ready jobs cannot be read", "windows", len(ws), "err", err)
	}
	for i, w := range ws {
		w.filling = false
		if !d.state.has(w) {
			continue
		}
		if err == nil && w.rewinds == turns[i] {
			d.tookFirst(w, of[i])
		}
		d.state.check(w)
		d.stirWindow(w)
	}
	d.line.unblock(d, err)
	d.kick()
}

// tookFirst puts the first jobs of a window into it.
func (d *Dispatcher) tookFirst(w *window, rows []readyRow) {
	for _, r := range rows {
		if job := r.job(); d.state.inflight[job.id] == nil {
			w.insert(job)
		}
		if s := (stand{r.Place, r.ID}); w.cursor.before(s) {
			w.cursor = s
		}
	}
	w.end = len(rows) < firstFew && len(w.behind) == 0
}
