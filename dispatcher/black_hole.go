package dispatcher

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/shares"
	retrypolicy "github.com/divvyhq/divvy/shares/retry"
)

// holeHeld is what a pull at a queue that fails everything lacks until its next probe.
const holeHeld = "black_hole"

type holeRow struct {
	QueueID shares.QueueID
	retry.Standing
}

// outcomes counts how attempts end at queues, as far as this daemon hears of it.
type outcomes struct {
	mu     sync.Mutex
	counts retry.Counts
}

// count notes how attempts ended.
func (o *outcomes) count(rows []endRow) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range rows {
		o.counts.Add(rows[i].QueueID, rows[i].ShapeID, outcomeLetters[Outcome(rows[i].Outcome)])
	}
}

// look returns the queues that were found, and how probes ended, since the last look.
func (o *outcomes) look(b retrypolicy.BlackHole, known map[shares.QueueID]*retry.Hole) (found, probed map[shares.QueueID]retry.Tally) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.counts.Turn(time.Now(), b.Window)
	return o.counts.Found(b, known), o.counts.Probed(known)
}

func (o *outcomes) forget(id shares.QueueID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.counts.Forget(id)
}

// WatchQueues finds queues that fail nearly all that they get, so that they get one job at a time now and then, and lets them
// have jobs as before when these finish. What one daemon finds all of them follow. It returns how many queues it found or let go.
func (d *Dispatcher) WatchQueues(ctx context.Context) (n int, err error) {
	var b retrypolicy.BlackHole
	if p := d.attempts.Load(); p != nil {
		b = p.BlackHole
	}
	d.mu.Lock()
	known := maps.Clone(d.state.holes)
	busy, wanted := d.busyHoles(), d.wantedProbes()
	d.mu.Unlock()
	if b.Sample > 0 {
		if err := d.noteHoles(ctx, b, known); err != nil {
			return 0, fmt.Errorf("watch queues: %w", err)
		}
	}
	args := pgx.StrictNamedArgs{"off": b.Sample == 0, "enough": retry.ProbesEnough, "busy": busy, "window_s": b.Window.Seconds()}
	if len(known) > 0 {
		if _, err := d.cfg.Pool.Exec(ctx, query["close_black_holes"], args); err != nil {
			return 0, fmt.Errorf("watch queues: %w", err)
		}
	}
	turns, err := d.takeProbes(ctx, wanted, b.Probe)
	if err != nil {
		return 0, fmt.Errorf("watch queues: %w", err)
	}
	rows, err := collect[holeRow](ctx, d.cfg.Pool, "black_holes", nil)
	if err != nil {
		return 0, fmt.Errorf("watch queues: %w", err)
	}
	return d.followHoles(rows, turns), nil
}

// wantedProbes are the throttled queues at which a pull wants a job that this daemon may not give. d.mu is held.
func (d *Dispatcher) wantedProbes() (ids []int32) {
	for id, h := range d.state.holes {
		if h.Wants() {
			ids = append(ids, int32(id))
		}
	}
	return ids
}

// probeRow is a queue that this daemon may give a job.
type probeRow struct{ QueueID shares.QueueID }

// takeProbes asks for the turn at queues: of all daemons one has it, once in the time that the site says.
func (d *Dispatcher) takeProbes(ctx context.Context, wanted []int32, every time.Duration) ([]probeRow, error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	return collect[probeRow](ctx, d.cfg.Pool, "take_probes", pgx.StrictNamedArgs{"queues": wanted, "every_s": every.Seconds()})
}

// busyHoles are the throttled queues where something runs. d.mu is held.
func (d *Dispatcher) busyHoles() []int32 {
	busy := []int32{}
	for id := range d.state.holes {
		if q := d.state.queues[id]; q != nil && q.heldJobs > 0 {
			busy = append(busy, int32(id))
		}
	}
	return busy
}

// noteHoles writes down what this daemon has found, and how probes ended.
func (d *Dispatcher) noteHoles(ctx context.Context, b retrypolicy.BlackHole, known map[shares.QueueID]*retry.Hole) error {
	found, probed := d.outcomes.look(b, known)
	for verb, of := range map[string]map[shares.QueueID]retry.Tally{"open_black_holes": found, "note_probes": probed} {
		if len(of) == 0 {
			continue
		}
		var queues, ends, fails, goods []int32
		for _, id := range slices.Sorted(maps.Keys(of)) {
			t := of[id]
			queues, ends, fails = append(queues, int32(id)), append(ends, int32(t.Ends)), append(fails, int32(t.Fails))
			goods = append(goods, int32(t.Good()))
		}
		args := pgx.StrictNamedArgs{"queues": queues, "ends": ends, "fails": fails}
		if verb == "note_probes" {
			args = pgx.StrictNamedArgs{"queues": queues, "goods": goods, "bads": fails}
		}
		if _, err := d.cfg.Pool.Exec(ctx, query[verb], args); err != nil {
			return fmt.Errorf("%s: %w", verb, err)
		}
	}
	return nil
}

// followHoles takes over which queues are throttled, and has those tried that this daemon may probe. It returns how many changed.
func (d *Dispatcher) followHoles(rows []holeRow, turns []probeRow) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := make(map[shares.QueueID]*retry.Hole, len(rows))
	for _, r := range rows {
		h := d.state.holes[r.QueueID]
		if h == nil {
			n++
			h = &retry.Hole{}
			d.sayHole(r.QueueID, r)
		}
		if slices.Contains(turns, probeRow{r.QueueID}) {
			h.Give()
		}
		h.Standing, next[r.QueueID] = r.Standing, h
	}
	for id := range d.state.holes {
		if next[id] == nil {
			n++
			d.outcomes.forget(id)
			d.sayNoHole(id)
		}
	}
	if len(next)+len(d.state.holes) == 0 {
		return n
	}
	was := d.state.holes
	d.state.holes = next
	d.line.stir(func(c *class) bool {
		q := d.state.byName[c.queue]
		return q != nil && (was[q.ID] != nil || next[q.ID] != nil)
	})
	d.kick()
	return n
}

func (d *Dispatcher) sayHole(id shares.QueueID, r holeRow) {
	if q := d.state.queues[id]; q != nil {
		d.metrics.holes.WithLabelValues(q.Name).Set(1)
		d.cfg.Log.Warn("a queue fails nearly all that it gets, while the same kinds of jobs finish elsewhere: it gets a job now and then",
			"queue", q.Name, "ended", r.Ends, "failed", r.Fails)
	}
}

func (d *Dispatcher) sayNoHole(id shares.QueueID) {
	if q := d.state.queues[id]; q != nil {
		d.metrics.holes.DeleteLabelValues(q.Name)
		d.cfg.Log.Info("a queue that failed nearly all that it got works again", "queue", q.Name)
	}
}

// decideHole is decide for a pull at a throttled queue: none until it is this daemon's turn to probe it, with one job. d.mu is
// held.
func (d *Dispatcher) decideHole(p *pull, h *retry.Hole, n *needs) decision {
	if !h.Ask() {
		n.lacked = holeHeld
		return none
	}
	most := p.most
	p.most = 1
	verdict := d.state.decide(p, n)
	if verdict == given {
		h.Given()
	} else {
		p.most = most
	}
	return verdict
}
