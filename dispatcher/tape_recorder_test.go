package dispatcher

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/tape"
	"github.com/divvyhq/divvy/shares"
)

// recorder writes what a daemon decides on a tape. It knows one daemon on an empty database, whose grants are never in doubt, and
// no claims. Calls come while Dispatcher.mu is held.
type recorder struct {
	t      testing.TB
	pool   *pgxpool.Pool // to look up exact ids
	w      *tape.Writer
	d      *Dispatcher
	site   []byte // the last one that was written
	ready  map[int64]spot
	held   map[int64]spot
	users  map[int64]string // by task
	elder  int64
	passed map[*group]tape.Key // and as the tape names them
	tries  map[*pull]int       // attempts that gave nothing since more had to be read
	pass   []tape.Pass         // of the present decision
	waits  bool                // for jobs to be made, in the present decision
	out    *move               // leases that are about to count elsewhere

	pulls, grants int
}

// spot is where a job is ready, or was.
type spot struct {
	task  int64
	key   windowKey
	place int64
}

func newRecorder(t testing.TB, pool *pgxpool.Pool, w *tape.Writer) *recorder {
	return &recorder{t: t, pool: pool, w: w, ready: map[int64]spot{}, held: map[int64]spot{}, users: map[int64]string{}, tries: map[*pull]int{}, passed: map[*group]tape.Key{}}
}

func (r *recorder) write(e tape.Entry) {
	if err := r.w.Write(e); err != nil {
		r.t.Error(err)
	}
}

func keyOf(k windowKey) tape.Key { return tape.Key{Share: k.share, Shape: k.shape} }

func (r *recorder) began(d *Dispatcher) {
	if r.d != nil {
		r.t.Error("the daemon starts anew")
	}
	r.d = d
	r.write(tape.Entry{Begin: &tape.Begin{LocalWaitMS: d.cfg.Timing.LocalWait.Milliseconds(), AtUS: d.state.remembered.UnixMicro()}})
	for _, id := range slices.Sorted(maps.Keys(d.state.shapes)) {
		r.knew(d.state.shapes[id])
	}
}

func (r *recorder) adopted(s *state) {
	for g := range r.passed { // they are others from now on
		r.awaits(g)
	}
	v := s.version
	v.Attempts = nil
	a := &tape.Adopt{Number: v.Number, AtUS: s.plans.at.UnixMicro()}
	for _, row := range s.targets {
		a.Targets = append(a.Targets, tape.Target{Queue: row.Queue, Share: row.ShareID, Class: row.Class, Slots: row.Slots, Floor: row.Floor})
	}
	site, err := json.Marshal(v)
	if err != nil {
		r.t.Error(err)
	}
	if !bytes.Equal(site, r.site) {
		a.Site, r.site = &v, site
	}
	r.write(tape.Entry{Adopt: a})
}

func (r *recorder) knew(sh *shape) {
	if sh.full.Claims != nil {
		r.t.Errorf("shape %d has claims", sh.id)
	}
	r.write(tape.Entry{Shape: &tape.Shape{ID: sh.id, Plain: sh.plain, Need: sh.full}})
}

func (r *recorder) moves(_ *state, m move) {
	key := windowKey{m.Share, m.Shape}
	switch was, is := m.Before, m.After; {
	case was == isReady && is == isLeased:
		r.t.Errorf("a grant in doubt: %+v", m)
	case was == isReady:
		r.leave(m, key)
	case was == isLeased && is == isNone:
		r.out = &m
	case was == isNone && is == isLeased:
		r.moved(*r.out, m)
		r.out = nil
	case was == isLeased:
		r.ended(m)
	case is == isReady:
		r.enter(m, key)
	}
}

// enter is about jobs that are ready from now on.
func (r *recorder) enter(m move, key windowKey) {
	var ids []int64
	if m.High-m.Low+1 == int64(m.N) {
		for id := m.Low; id <= m.High; id++ {
			ids = append(ids, id)
		}
	} else {
		ids = slices.DeleteFunc(r.readyIDs(m), func(id int64) bool { return r.ready[id] != (spot{}) || r.held[id] != (spot{}) })
	}
	r.counted("ready", m, ids)
	for _, id := range ids {
		r.ready[id] = spot{m.Task, key, m.Place}
	}
	r.write(tape.Entry{Ready: &tape.Ready{Task: m.Task, User: r.user(m.Task), Key: keyOf(key), Place: m.Place, Jobs: tape.Spans(ids), Made: m.Before == isNone}})
}

// leave is about jobs that are not ready any more.
func (r *recorder) leave(m move, key windowKey) {
	var ids []int64
	for id := m.Low; id <= m.High; id++ {
		if r.ready[id] == (spot{m.Task, key, m.Place}) {
			ids = append(ids, id)
		}
	}
	if len(ids) != int(m.N) {
		still := r.readyIDs(m)
		ids = slices.DeleteFunc(ids, func(id int64) bool { return slices.Contains(still, id) })
	}
	r.counted("withdrawn", m, ids)
	for _, id := range ids {
		delete(r.ready, id)
	}
	r.write(tape.Entry{Withdrawn: &tape.Ready{Task: m.Task, Key: keyOf(key), Place: m.Place, Jobs: tape.Spans(ids)}})
}

func (r *recorder) counted(what string, m move, ids []int64) {
	if len(ids) != int(m.N) {
		r.t.Errorf("%s: %+v, and its jobs are %v", what, m, ids)
	}
}

// readyIDs are the jobs of the task that the table has as ready where the move says.
func (r *recorder) readyIDs(m move) (ids []int64) {
	return r.ids(`SELECT id FROM jobs j WHERE id BETWEEN $1 AND $2 AND task_id = $3 AND share_id = $4 AND shape_id = $5 AND place = $6 AND state = 'ready'
		ORDER BY id`, m.Low, m.High, m.Task, int32(m.Share), m.Shape, m.Place)
}

func (r *recorder) ids(sql string, args ...any) []int64 {
	rows, err := r.pool.Query(context.Background(), sql, args...)
	if err != nil {
		r.t.Error(err)
		return nil
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		r.t.Error(err)
	}
	return ids
}

// user is whose a task is.
func (r *recorder) user(task int64) string {
	user, known := r.users[task]
	if !known {
		if err := r.pool.QueryRow(context.Background(), "SELECT coalesce((SELECT user_name FROM tasks WHERE id = $1), '')", task).Scan(&user); err != nil {
			r.t.Error(err)
		}
		r.users[task] = user
	}
	return user
}

func (r *recorder) ended(m move) {
	e := &tape.Ended{Job: m.Low, Next: tape.Over}
	at, was := r.held[m.Low]
	delete(r.held, m.Low)
	if !was || at.key != (windowKey{m.Share, m.Shape}) {
		r.t.Errorf("job %d ended as %+v, it was held as %+v", m.Low, m, at)
	}
	switch m.After {
	case isReady:
		e.Next, e.Place, at.place = tape.Again, m.Place, m.Place
		r.ready[m.Low] = at
	case isWaiting:
		e.Next = tape.Waits
	}
	r.write(tape.Entry{Ended: e})
}

// moved is about leases that count elsewhere from now on.
func (r *recorder) moved(out, in move) {
	from, to := windowKey{out.Share, out.Shape}, windowKey{in.Share, in.Shape}
	var ids []int64
	for id, at := range r.held {
		if at.task == out.Task && at.key == from {
			ids = append(ids, id)
		}
	}
	ids = r.ids("SELECT job_id FROM leases WHERE job_id = ANY ($1) AND share_id = $2 AND shape_id = $3 AND queue_id = $4 ORDER BY job_id",
		ids, int32(in.Share), in.Shape, int32(in.Queue))
	r.counted("moved", in, ids)
	for _, id := range ids {
		at := r.held[id]
		at.key = to
		r.held[id] = at
	}
	r.write(tape.Entry{Moved: &tape.Moved{From: keyOf(from), To: keyOf(to), Jobs: tape.Spans(ids)}})
}

func (r *recorder) backlog(key windowKey, n int64) {
	r.write(tape.Entry{Backlog: &tape.Backlog{Key: keyOf(key), N: n}})
}

func (r *recorder) remembers(now time.Time) {
	e := &tape.Remembered{AtUS: now.UnixMicro(), Rounds: map[string]shares.Units{}}
	for name, p := range r.d.state.pools {
		e.Rounds[name] = r.d.state.roundNow(p)
	}
	r.write(tape.Entry{Remembered: e})
}

func (r *recorder) pilots(q shares.QueueID, some bool) {
	r.write(tape.Entry{Seen: &tape.Seen{Queue: q, Some: some}})
}

// groupKey stands for all shapes of the share that differ in resources and user alone.
func (r *recorder) groupKey(g *group) tape.Key {
	return tape.Key{Share: r.d.state.version.Tree.Nodes[g.leaf].ID, Shape: g.outline.first}
}

func (r *recorder) met(p *pull, g *group, waits bool) {
	if r.waits = waits; !waits {
		r.passed[g] = r.groupKey(g)
		r.pass = append(r.pass, tape.Pass{Key: r.passed[g], After: len(p.grants)})
	}
}

func (r *recorder) awaits(g *group) {
	key := r.passed[g]
	delete(r.passed, g)
	r.write(tape.Entry{Awaited: &key})
}

// changed says what changed beside the moves since the last decision.
func (r *recorder) changed() {
	if upTo := r.d.state.elders.upTo; upTo != r.elder {
		r.elder = upTo
		r.write(tape.Entry{Elder: &tape.Elder{UpTo: upTo}})
	}
	for g := range r.passed {
		if !g.passed {
			r.awaits(g)
		}
	}
}

func (r *recorder) decided(p *pull, n *needs, found decision) {
	r.changed()
	verdict := map[decision]string{none: tape.None, given: tape.Given, blocked: tape.Undone}[found]
	waits := r.waits
	r.waits = false
	switch {
	case len(n.gathered) > 0:
		r.t.Error("a gang starts")
	case found == blocked && len(p.grants) == 0 && waits:
		verdict = tape.Making
	case found == blocked && len(p.grants) == 0:
		r.tries[p]++
		for i := range r.pass {
			r.pass[i].After = 0 // it counts from the next decision on
		}
		return
	case found == blocked && p.retries >= mostRetries:
		verdict = tape.Cut
	}
	s := r.d.state
	e := &tape.Pull{Number: p.number, Queue: s.byName[p.req.Queue].ID, Pilot: p.req.Pilot, Node: p.req.Node, Devices: p.req.Devices,
		Slot: p.req.Slot, Max: p.most, Blocked: r.tries[p], Verdict: verdict, Lacked: n.lacked, Passed: r.pass}
	r.pass = nil
	delete(r.tries, p)
	if !p.req.Only.None() {
		e.Only = &p.req.Only
	}
	if len(s.supplies.by) > 0 {
		e.AtUS = s.moment.UnixMicro()
	}
	for _, g := range p.grants {
		e.Grants = append(e.Grants, r.grant(g))
	}
	r.pulls++
	r.write(tape.Entry{Pull: e})
}

func (r *recorder) grant(g *grant) tape.Grant {
	at, was := r.ready[g.job.id]
	if !was || at.key != g.window.key {
		r.t.Errorf("job %d is granted as %+v, it was ready as %+v", g.job.id, g.window.key, at)
	}
	delete(r.ready, g.job.id)
	r.held[g.job.id] = at
	r.grants++
	out := tape.Grant{Job: g.job.id, Attempt: g.job.attempt, Key: keyOf(g.window.key), Units: g.units}
	if n := g.note; n != nil {
		out.Floor, out.Next, out.Deficit, out.NextLacked = n.floor, n.runnerUp, rounded(n.deficit), rounded(n.runnerUpDeficit)
	}
	return out
}

// rounded is short to write down.
func rounded(deficit float32) float32 { return float32(math.Round(float64(deficit)*1000) / 1000) }

func (r *recorder) tookBack(g *grant, gone bool) {
	r.ready[g.job.id] = r.held[g.job.id]
	delete(r.held, g.job.id)
	r.write(tape.Entry{TakeBack: &tape.TakeBack{Job: g.job.id, Gone: gone}})
}
