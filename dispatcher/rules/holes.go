package rules

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
	policy "github.com/divvyhq/divvy/shares/retry"
)

// ends counts how attempts end at queues, as this leader decides.
type ends struct {
	mu     sync.Mutex
	counts retry.Counts
}

func (e *ends) do(what func(*retry.Counts)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	what(&e.counts)
}

// HoleRow is a queue that gets a job now and then only.
type HoleRow struct {
	QueueID shares.QueueID
	retry.Hole
	ProbeS int32 // as the log has it
}

// Holes reads the queues that get a job now and then only, for standings and explanations.
func (r *Rules) Holes(ctx context.Context) ([]HoleRow, error) {
	return pg.Collect[HoleRow](ctx, r.cfg.Pool, query["black_holes"])
}

// WatchQueues finds queues that fail nearly all that they get, so that they get one job at a time now and then, and lets them
// have jobs as before when these finish. It returns how many queues it found or let go.
func (r *Rules) WatchQueues(ctx context.Context) (n int, err error) {
	site, busy := policy.BlackHole{}, map[shares.QueueID]bool{} // queues of the site; true: something runs there
	err = r.cfg.View(ctx, func(v machine.View) {
		if v.Site.Attempts != nil {
			site = v.Site.Attempts.BlackHole
		}
		for _, q := range v.Site.Queues {
			busy[q.ID] = v.Queue(q.ID).HeldJobs > 0
		}
	})
	if err == nil {
		err = pg.InTx(ctx, r.cfg.Pool, func(tx pgx.Tx) error {
			w := &watching{Rules: r, tx: tx, site: site, busy: busy, now: time.Now()}
			n, err = w.look(ctx)
			return err
		})
	}
	return n, pg.Named("watch queues", err)
}

// watching is one look at the queues.
type watching struct {
	*Rules
	tx   pgx.Tx
	site policy.BlackHole
	busy map[shares.QueueID]bool
	now  time.Time

	keep []HoleRow
	gone []int32
	said []entry.Entry
}

// look goes through the holes that are known, and those that are found.
func (w *watching) look(ctx context.Context) (n int, err error) {
	rows, err := pg.Collect[HoleRow](ctx, w.tx, query["lock_black_holes"])
	if err != nil {
		return 0, err
	}
	known := make(map[shares.QueueID]bool, len(rows))
	for _, row := range rows {
		known[row.QueueID] = true
	}
	var found, probed map[shares.QueueID]retry.Tally
	if w.site.Sample > 0 {
		w.ends.do(func(c *retry.Counts) {
			c.Turn(w.now, w.site.Window)
			found, probed = c.Found(w.site, known), c.Probed(known)
		})
	}
	for _, row := range rows {
		n += w.review(row, probed[row.QueueID])
	}
	for queue, t := range found {
		if _, there := w.busy[queue]; there {
			w.hold(HoleRow{QueueID: queue, Hole: retry.NewHole(t, w.now)}, true)
			n++
		}
	}
	return n, w.write(ctx)
}

// review lets a hole go, or notes how its probes ended. It returns 1 if it let it go.
func (w *watching) review(row HoleRow, t retry.Tally) int {
	row.Note(t, w.now)
	running, there := w.busy[row.QueueID]
	if w.site.Sample == 0 || !there || row.Over(running, w.site.Window, w.now) {
		w.gone = append(w.gone, int32(row.QueueID))
		w.ends.do(func(c *retry.Counts) { c.Forget(row.QueueID) })
		if there {
			w.said = append(w.said, entry.Holed{Queue: row.QueueID})
		}
		return 1
	}
	if anew := row.ProbeS != w.probeS(); anew || t.Ends > 0 {
		w.hold(row, anew)
	}
	return 0
}

// hold writes a hole down; said: the log is to say how often it gets a job.
func (w *watching) hold(row HoleRow, said bool) {
	row.ProbeS = w.probeS()
	w.keep = append(w.keep, row)
	if said {
		w.said = append(w.said, entry.Holed{Queue: row.QueueID, Is: true, ProbeS: row.ProbeS})
	}
}

// probeS is how often the site has holes get a job.
func (w *watching) probeS() int32 { return max(1, int32(w.site.Probe.Seconds())) }

func (w *watching) write(ctx context.Context) error {
	slices.SortFunc(w.keep, func(a, b HoleRow) int { return cmp.Compare(a.QueueID, b.QueueID) })
	if len(w.keep) > 0 {
		if err := exec(ctx, w.tx, "set_black_holes", pg.Columns(w.keep)); err != nil {
			return err
		}
	}
	if len(w.gone) > 0 {
		if err := exec(ctx, w.tx, "drop_black_holes", args{"queues": w.gone}); err != nil {
			return err
		}
	}
	slices.SortFunc(w.said, func(a, b entry.Entry) int { return cmp.Compare(a.(entry.Holed).Queue, b.(entry.Holed).Queue) })
	return intake.Say(ctx, w.tx, w.said)
}
