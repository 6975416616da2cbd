package dispatcher

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

type headRow struct {
	Epoch  int64
	Closed bool
	Moved  bool
}

// Refresh catches up with the others: their moves, a new site version, limits that are wanted. It returns how
// many ledger rows it read. It is cheap when nothing has happened; do it on every hint and several times a second.
func (d *Dispatcher) Refresh(ctx context.Context) (n int, err error) {
	d.refreshing.Lock()
	defer d.refreshing.Unlock()
	began := time.Now()
	head, err := collect[headRow](ctx, d.cfg.Pool, "head", pgx.StrictNamedArgs{"daemon": d.id})
	if err != nil {
		return 0, err
	}
	d.mu.Lock()
	// What was read or committed before a failover may not be there behind it, even where a synchronous standby takes over: a
	// commit whose wait for it was broken off shows all the same.
	lost := d.lost || len(head) > 0 && head[0].Moved
	d.mu.Unlock()
	if lost || len(head) == 0 || head[0].Closed {
		d.cfg.Log.Warn("this daemon starts anew: the database failed over, or it was taken for dead, or could not count", "daemon", d.id)
		if lost { // the one that it was has escrow, and would be an elder of the one that it will be
			if err := d.closeDaemons(ctx, []int64{d.id}); err != nil {
				return 0, err
			}
		}
		if err := d.join(ctx); err != nil {
			return 0, err
		}
		return d.followTails(ctx) // the counters that it has begun with may lack much that is not folded
	}
	if n, err = d.followTails(ctx); err != nil {
		return n, err
	}
	regained, err := d.regain(ctx)
	if err != nil {
		return n, err
	}
	d.mu.Lock()
	// A take or a return under way is bound to its epoch. Within the same one, what is read now might miss it, and
	// the units would be spent here and elsewhere: it is waited for, and no other one begins meanwhile.
	reload := regained || d.outdated && !d.state.taking() || head[0].Epoch != d.state.epoch
	d.mu.Unlock()
	if err := d.readClaims(ctx); err != nil {
		return n, err
	}
	if reload {
		if err := d.reload(ctx); err != nil {
			return n, err
		}
	}
	if err := d.readExternal(ctx); err != nil {
		return n, err
	}
	if err := d.watchLimits(ctx); err != nil {
		return n, err
	}
	if err := d.lookAround(ctx); err != nil {
		return n, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if n < tailRows {
		d.fresh = began
	}
	return n, nil
}

// reload reads the site and the limits while decisions wait: what it reads and what it counts must be of one moment.
func (d *Dispatcher) reload(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Timing.Statement)
	defer cancel()
	d.mu.Lock()
	defer d.mu.Unlock()
	site, err := d.loadSite(ctx, d.id)
	if err != nil {
		return err
	}
	d.adopt(site)
	return nil
}

// tailRows bounds what one look reads of a lane: a look that read as much is not the last word.
const tailRows = 500

// followTails applies the rows of the other daemons and of the shared lanes that are new.
func (d *Dispatcher) followTails(ctx context.Context) (n int, err error) {
	fresh, err := collect[daemonRow](ctx, d.cfg.Pool, "daemons", pgx.StrictNamedArgs{"after": d.newest})
	if err != nil {
		return 0, err
	}
	d.mu.Lock()
	before := d.daemons
	d.daemons = map[int64]Peer{}
	elsewhere := map[shares.QueueID]bool{}
	for _, r := range fresh {
		for _, q := range r.PilotQueues {
			elsewhere[shares.QueueID(q)] = elsewhere[shares.QueueID(q)] || r.Open && r.ID != d.id
		}
		d.newest = max(d.newest, r.ID)
		if r.Open {
			d.daemons[r.ID] = r.peer()
		}
		for lane := range nLanes {
			id := laneID{r.ID, lane}
			d.followed[id] += 0 // known from now on
		}
	}
	d.lookForClosed(before)
	d.state.pilotsElsewhere(elsewhere)
	var ids, seqs []int64
	var lanes []int32
	for id, seq := range d.followed {
		if id.Daemon != d.id {
			ids, lanes, seqs = append(ids, id.Daemon), append(lanes, int32(id.Lane)), append(seqs, seq)
		}
	}
	d.mu.Unlock()
	rows, err := collect[laneRow](ctx, d.cfg.Pool, "tails", pgx.StrictNamedArgs{
		"daemons": ids, "lanes": lanes, "seqs": seqs, "n": tailRows})
	if err != nil {
		return 0, err
	}
	if len(rows) == 0 {
		return 0, nil
	}
	return len(rows), d.applyTails(ctx, rows)
}

func (d *Dispatcher) applyTails(ctx context.Context, rows []laneRow) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	ready, freed, made, now := map[*window]bool{}, false, false, time.Now()
	for _, r := range rows {
		moves := r.unpack()
		if err := d.state.knowShapes(ctx, d.cfg.Pool, moves); err != nil {
			return err
		}
		for _, m := range moves {
			d.state.diary.tape.moves(d.state, m)
			d.state.apply(m, false)
			d.lookForStranded(r, m)
			freed = freed || m.Before == isLeased
			if m.After == isLeased && r.DaemonID != 0 {
				d.active[r.DaemonID] = now
			}
			if m.Before == isNone {
				d.made.Add(int64(m.N))
				made = true
			}
			if m.Before == isReady && m.After == isLeased {
				d.granted.Add(int64(m.N))
				d.state.tookTurn(turnRow{m.Share, m.Shape, m.Queue})
			}
			if m.After == isReady {
				if w := d.state.windows[windowKey{m.Share, m.Shape}]; w != nil {
					ready[w] = true
				}
			}
		}
		d.followed[laneID{r.DaemonID, r.Lane}] = r.Seq
		d.state.diary.saw(r.DaemonID, r.Lane, r.Seq)
	}
	if made {
		d.madeSome()
	}
	for w := range ready {
		d.stirWindow(w)
	}
	if freed {
		d.line.stir((*class).short)
	}
	d.kick()
	return nil
}

type backlogRow struct {
	ShareID shares.ShareID
	ShapeID int32
	Jobs    int64
}

// lookAround does what needs doing a few times a second: jobs in doubt, jobs that are not generated yet, rates.
func (d *Dispatcher) lookAround(ctx context.Context) error {
	now := time.Now()
	if pause := now.Sub(d.backlogRead); pause >= d.backlogPause || d.madeSince && pause >= d.backlogPause/backlogSooner {
		d.madeSince = false
		if err := d.readBacklog(ctx); err != nil {
			return err
		}
		d.backlogRead, d.backlogPause = now, backlogPause(time.Since(now), d.Daemons())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reslice(now)
	d.lookAtWindows(now)
	for _, q := range d.state.queues {
		some := q.asked()
		q.forgetBefore(now.Add(-pilotMemory))
		if some && !q.asked() {
			d.state.pilotsAt(q, false)
		}
	}
	d.lookAtNarrows(now)
	d.state.lookAtSupplies()
	d.state.elders.look(now, d.cfg.Timing.LocalWait)
	d.lookAtGangs()
	d.line.stir((*class).lacksLoan) // the demand may be another
	d.kick()
	return nil
}

// Jobs to come are counted every second, or seldomer: that reads a row for every active task, and all daemons together
// spend at most a twentieth of one backend on it.
const (
	backlogEvery  = time.Second
	backlogSeldom = 10 * time.Second
	backlogEase   = 20
	backlogSooner = 5 // times sooner while jobs are made: of others to come, this daemon may not know
)

// backlogPause is the time from one count of the jobs to come to the next.
func backlogPause(took time.Duration, daemons int) time.Duration {
	return min(max(backlogEvery, backlogEase*took*time.Duration(daemons)), backlogSeldom)
}

// readBacklog counts the jobs that active tasks have not generated yet.
func (d *Dispatcher) readBacklog(ctx context.Context) error {
	rows, err := collect[backlogRow](ctx, d.cfg.Pool, "backlog", nil)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	left := make(map[windowKey]int64, len(rows))
	for _, r := range rows {
		left[windowKey{r.ShareID, r.ShapeID}] = r.Jobs
		if d.state.shapes[r.ShapeID] == nil {
			if err := d.state.loadShapes(ctx, d.cfg.Pool); err != nil {
				return err
			}
		}
		d.state.window(windowKey{r.ShareID, r.ShapeID})
	}
	for key, w := range d.state.windows {
		if n := left[key]; n != w.backlog {
			d.state.setBacklog(key, n)
			d.state.diary.noteBacklog(w)
		}
	}
	return nil
}

// setBacklog says how many jobs of a window are not generated yet.
func (s *state) setBacklog(key windowKey, n int64) {
	w := s.window(key)
	if w == nil {
		return
	}
	s.diary.tape.backlog(key, n)
	was, awaited := w.groupWaits(), w.group != nil && w.group.unmade()
	w.backlog = n
	w.recountWaits()
	if w.leaf < 0 {
		return
	}
	s.touch(w.leaf, (was > 0) != (w.groupWaits() > 0))
	if w.group.coming == 0 {
		w.group.passed, w.group.asked = false, time.Time{}
	}
	if w.group.unmade() != awaited {
		s.making.asked = time.Time{} // what was waited for until now is another thing
		s.reviewGroup(w.group)
	}
}

// pilotMemory is how long a pilot that does not ask any more counts as one of the queue.
const pilotMemory = 5 * time.Minute

// hintOthers lets the other daemons know, soon, that the ledger has grown. d.mu is held.
func (d *Dispatcher) hintOthers() {
	if len(d.daemons) <= 1 {
		return
	}
	select {
	case d.hint <- struct{}{}:
	default:
	}
}

// hintLoop sends at most one NOTIFY in 20 ms: its commit takes a lock of the whole database, so it must not be
// part of a grant or an end.
func (d *Dispatcher) hintLoop(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		select {
		case <-ctx.Done():
			return
		case <-d.hint:
		}
		if err := d.notify(ctx, "ledger"); err != nil && !pg.IsUnavailable(err) && ctx.Err() == nil {
			d.cfg.Log.Warn("hint to other daemons failed", "err", err)
		}
		pause.Reset(20 * time.Millisecond)
	}
}

func (d *Dispatcher) notify(ctx context.Context, what string) error {
	_, err := d.cfg.Pool.Exec(ctx, query["notify"], pgx.StrictNamedArgs{"what": what})
	return err
}
