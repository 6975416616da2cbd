package dispatcher

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/retry"
)

// holeHeld is what a pull at a queue that fails everything lacks until its next probe.
const holeHeld = "black_hole"

// probesEnough is how many attempts must finish in a row before such a queue works again.
const probesEnough = 3

// hole is a queue that fails nearly all that it gets.
type hole struct {
	BlackHoleStanding
	wanted bool // a pull has asked here for the next probe
	turn   bool // this daemon may give it a job
}

// words says it to people.
func (h *hole) words(p *retry.Policy) string {
	every := ""
	if p != nil {
		every = fmt.Sprintf(" every %s", p.BlackHole.Probe)
	}
	return fmt.Sprintf("since %s it fails nearly all that it gets (%d of %d attempts), while the same kinds of jobs finish elsewhere: it gets one job%s until %d finish in a row",
		h.Since.UTC().Format(time.RFC3339), h.Fails, h.Ends, every, probesEnough)
}

// BlackHoleStanding is a queue that fails nearly all that it gets, while the same kinds of jobs finish elsewhere.
type BlackHoleStanding struct {
	Since time.Time `json:"since"`
	Ends  int       `json:"ends" doc:"Attempts that had ended there lately when it was found."`
	Fails int       `json:"fails" doc:"Of these, those that failed or were lost."`
	Good  int       `json:"good" doc:"Attempts that finished since the last one that did not; after three it gets jobs as before."`
}

type holeRow struct {
	QueueID shares.QueueID
	Since   time.Time
	Ends    int
	Fails   int
	Good    int
}

// WatchQueues finds queues that fail nearly all that they get, so that they get one job at a time now and then, and lets them
// have jobs as before when these finish. What one daemon finds all of them follow. It returns how many queues it found or let go.
func (d *Dispatcher) WatchQueues(ctx context.Context) (n int, err error) {
	var b retry.BlackHole
	if p := d.attempts.Load(); p != nil {
		b = p.BlackHole
	}
	d.mu.Lock()
	known := maps.Clone(d.state.holes)
	busy, wanted := d.busyHoles(), d.wantedProbes()
	d.mu.Unlock()
	if b.Sample > 0 {
		d.outcomes.turn(time.Now(), b.Window)
		if err := d.noteHoles(ctx, b, known); err != nil {
			return 0, fmt.Errorf("watch queues: %w", err)
		}
	}
	args := pgx.StrictNamedArgs{"off": b.Sample == 0, "enough": probesEnough, "busy": busy, "window_s": b.Window.Seconds()}
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
		if h.wanted && !h.turn {
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
func (d *Dispatcher) noteHoles(ctx context.Context, b retry.BlackHole, known map[shares.QueueID]*hole) error {
	found := d.outcomes.found(b, known)
	probed := d.outcomes.probed(known)
	for verb, of := range map[string]map[shares.QueueID]tally{"open_black_holes": found, "note_probes": probed} {
		if len(of) == 0 {
			continue
		}
		var queues, ends, fails, goods []int32
		for _, id := range slices.Sorted(maps.Keys(of)) {
			t := of[id]
			queues, ends, fails = append(queues, int32(id)), append(ends, int32(t.ends)), append(fails, int32(t.fails))
			goods = append(goods, int32(t.good()))
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
	next := make(map[shares.QueueID]*hole, len(rows))
	for _, r := range rows {
		h := d.state.holes[r.QueueID]
		if h == nil {
			n++
			h = &hole{}
			d.sayHole(r.QueueID, r)
		}
		h.turn = h.turn || slices.Contains(turns, probeRow{r.QueueID})
		h.BlackHoleStanding = BlackHoleStanding{Since: r.Since, Ends: r.Ends, Fails: r.Fails, Good: r.Good}
		next[r.QueueID] = h
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
func (d *Dispatcher) decideHole(p *pull, h *hole, n *needs) decision {
	if !h.turn {
		h.wanted = true
		n.lacked = holeHeld
		return none
	}
	most := p.most
	p.most = 1
	verdict := d.state.decide(p, n)
	if verdict == given {
		h.turn, h.wanted = false, false
	} else {
		p.most = most
	}
	return verdict
}
