package lookup

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/ledgertest"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// world is a database with the next schema, a log that it is folded from, and what a reader of the log knows of each job.
type world struct {
	*Reader
	t     testing.TB
	draw  *rand.Rand
	pool  *pgxpool.Pool
	log   *ledgertest.Memory
	now   time.Time
	last  entry.Batch
	batch []entry.Entry

	jobs   map[int64]*modelJob
	ids    []int64 // of jobs, rising
	tasks  map[int64]bool
	paused map[int64]bool
}

// modelJob is a job and all that happened to it.
type modelJob struct {
	entry.Enqueued                // of its block
	block          shares.ShareID // of its block
	priority       int
	idx            int64
	retryOf        int64
	made           time.Time
	state          string
	next           int32 // attempt that it is at, or ended with
	endedAt        time.Time
	attempts       []*modelAttempt
	tryAt          *time.Time
	killed         bool           // not to be tried again
	home           shares.ShareID // where it goes when it comes back; 0: it stays
}

// modelAttempt is an attempt, with what was said of it.
type modelAttempt struct {
	entry.Granted
	at      time.Time
	started time.Time
	ended   time.Time
	end     *entry.Ended // nil: it runs
	reason  string       // of the order to end
	killed  bool         // by name of its task, which comes before reason
	message string
	log     string
	meta    bool
	judged  string
}

const (
	nTasks  = 5
	nShapes = 3
	nQueues = 2
)

// names of what the tables have by number.
func userOf(task int64) string            { return fmt.Sprintf("user-%d", task%2) }
func shareOf(id shares.ShareID) string    { return []string{"", "top", "top/a", "top/b"}[id] }
func queueOf(id shares.QueueID) string    { return []string{"", "q", "r"}[id] }
func coresOf(shape int32) int64           { return int64(shape) }
func needOf(shape int32) job.Requirements { return job.Requirements{Cores: int(shape), Label: "l"} }

// newWorld is one without a job.
func newWorld(t testing.TB, seed uint64) *world {
	t.Helper()
	w := &world{t: t, draw: rand.New(rand.NewPCG(seed, 1)), pool: pgtest.Open(t), jobs: map[int64]*modelJob{}, tasks: map[int64]bool{}, paused: map[int64]bool{}}
	w.now = time.Now().UTC().Truncate(time.Microsecond).Add(-40 * time.Hour)
	w.log = &ledgertest.Memory{Clock: func() time.Time { return w.now }}
	w.Reader = New(Config{DB: w.pool})
	w.exec(`INSERT INTO site_versions (version, applied_by, source, share_ids, queue_ids) VALUES (1, 'test', '', '{}', '{}')`)
	w.exec(`INSERT INTO shares (id, parent_id, name, path, position, leaf, weight, tier) OVERRIDING SYSTEM VALUE VALUES
		(1, NULL, 'top', 'top', 0, false, 1, 1), (2, 1, 'a', 'top/a', 0, true, 1, 1), (3, 1, 'b', 'top/b', 1, true, 1, 1)`)
	w.exec(`INSERT INTO queues (id, name, core_power_milli, position) OVERRIDING SYSTEM VALUE VALUES (1, 'q', 1000, 0), (2, 'r', 2000, 1)`)
	w.exec(`INSERT INTO shapes (id, key, cores, memory_mb, disk_mb, walltime_s, labels, queues, label) OVERRIDING SYSTEM VALUE
		SELECT i, int4send(i), i, 0, 0, 0, '{}', '{}', 'l' FROM generate_series(1, $1::int) AS i`, nShapes)
	w.exec(`INSERT INTO tasks (id, name, user_name, state, share_id, shape_id, spec, n_jobs, n_pieces, n_generated, created_at) OVERRIDING SYSTEM VALUE
		SELECT i, 'n' || i, 'user-' || i % 2, 'running', 2, 1, '{}', 0, 0, 0, now() - interval '3 days' FROM generate_series(1, $1::int) AS i`, nTasks)
	w.exec(`SELECT divvy_extend_jobs(2000, 200)`)
	w.exec(`SELECT divvy_make_day(parent, (now() AT TIME ZONE 'UTC')::date - i)
		FROM unnest('{attempt_texts,payload_logs,share_samples}'::text[]) AS parent, generate_series(1, 4) AS i`)
	for shape := int32(1); shape <= nShapes; shape++ {
		w.add(entry.Shaped{Shape: shape, Need: needOf(shape)})
	}
	return w
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.pool.Exec(context.Background(), sql, args...); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
}

func (w *world) add(e entry.Entry) { w.batch = append(w.batch, e) }

// pass appends the batch and lets time pass.
func (w *world) pass() {
	w.t.Helper()
	seq := w.last.Seq + 1
	b := entry.Batch{Seq: seq, ID: entry.ID{0: 1, 14: byte(seq >> 8), 15: byte(seq)}, After: w.last.ID, By: 7, Entries: w.batch}
	if _, err := w.log.Append(context.Background(), b); err != nil {
		w.t.Fatal(err)
	}
	w.last, w.batch = b, nil
	w.now = w.now.Add([]time.Duration{0, 999 * time.Microsecond, time.Second, 77123456 * time.Microsecond, 20 * time.Minute}[w.draw.IntN(5)])
}

// one draws one of the jobs that are in a state.
func (w *world) one(state string) *modelJob {
	var found []*modelJob
	for _, id := range w.ids {
		if j := w.jobs[id]; w.shown(j) == state && (state != waiting || j.state == waiting) {
			found = append(found, j)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[w.draw.IntN(len(found))]
}

// enqueue makes a block of jobs.
func (w *world) enqueue() {
	e := entry.Enqueued{Task: 1 + w.draw.Int64N(nTasks), Share: shares.ShareID(2 + w.draw.IntN(2)), Shape: 1 + w.draw.Int32N(nShapes), Attempt: 1}
	priority := w.draw.IntN(3)
	e.Place, e.User = int64(-priority), userOf(e.Task)
	if err := w.pool.QueryRow(context.Background(), "SELECT divvy_take_ids($1::bigint)", 1+w.draw.Int64N(8)).Scan(&e.Low); err != nil {
		w.t.Fatal(err)
	}
	if err := w.pool.QueryRow(context.Background(), "SELECT last_value FROM job_ids").Scan(&e.High); err != nil {
		w.t.Fatal(err)
	}
	w.tasks[e.Task] = true
	w.exec(`INSERT INTO job_blocks (low, high, task_id, made_at, share_id, shape_id, priority, max_attempts, again) VALUES ($1, $2, $3, $4, $5, $6, $7, 9, false)`,
		e.Low, e.High, e.Task, w.now, e.Share, e.Shape, priority)
	for id := e.Low; id <= e.High; id++ {
		j := &modelJob{Enqueued: e, block: e.Share, priority: priority, idx: id * 2, made: w.now, state: ready, next: 1}
		if w.draw.IntN(4) == 0 && len(w.ids) > 0 {
			j.retryOf = w.ids[w.draw.IntN(len(w.ids))]
		}
		w.exec("INSERT INTO jobs (id, idx, inputs, retry_of) VALUES ($1, $2, ARRAY['in'], nullif($3, 0))", id, j.idx, j.retryOf)
		w.jobs[id], w.ids = j, append(w.ids, id)
	}
	w.add(e)
}

func (w *world) grant() {
	j := w.one(ready)
	if j == nil {
		return
	}
	id := w.idOf(j)
	g := entry.Granted{Job: id, Attempt: j.next, Nonce: w.draw.Int64(), Task: j.Task, Share: j.Share, Shape: j.Shape, Place: j.Place,
		Queue: shares.QueueID(1 + w.draw.IntN(nQueues)), Pilot: fmt.Sprintf("p%d", w.draw.IntN(3)), Node: fmt.Sprintf("n%d", w.draw.IntN(3))}
	g.Units = shares.Units(coresOf(j.Shape) * 1000 * int64(g.Queue))
	w.add(g)
	j.state = leased
	j.attempts = append(j.attempts, &modelAttempt{Granted: g, at: w.now})
}

func (w *world) idOf(j *modelJob) int64 {
	for _, id := range w.ids {
		if w.jobs[id] == j {
			return id
		}
	}
	return 0
}

func (j *modelJob) lastOne() *modelAttempt { return j.attempts[len(j.attempts)-1] }

func (w *world) start() {
	if j := w.one(leased); j != nil && j.lastOne().started.IsZero() {
		a := j.lastOne()
		w.add(entry.Started{Job: a.Job, Attempt: a.Attempt})
		a.started = a.at.Add(w.now.Sub(a.at).Truncate(time.Millisecond))
	}
}

func (w *world) revoke() {
	if j := w.one(leased); j != nil {
		a := j.lastOne()
		w.add(entry.Revoked{Job: a.Job, Attempt: a.Attempt, Reason: "reclaim", GraceS: 9})
		if !a.killed {
			a.reason = "reclaim"
		}
	}
}

var letters = map[entry.Outcome]string{entry.Finished: "finished", entry.Failed: "failed", entry.Lost: "lost", entry.Cancelled: "cancelled",
	entry.Returned: "revoked"}

func (w *world) end() {
	j := w.one(leased)
	if j == nil {
		return
	}
	a := j.lastOne()
	e := entry.Ended{Job: a.Job, Attempt: a.Attempt, CPUMilli: w.draw.Int64N(1e6), MemoryMB: w.draw.Int64N(5000),
		Outcome: []entry.Outcome{entry.Finished, entry.Failed, entry.Lost, entry.Cancelled, entry.Returned}[w.draw.IntN(5)]}
	switch {
	case e.Outcome == entry.Finished, e.Outcome == entry.Cancelled:
		e.Next = entry.Over
	case e.Outcome == entry.Returned:
		e.Next = entry.Again
	default:
		e.Next = []entry.Next{entry.Over, entry.Again, entry.Waits, entry.Waits}[w.draw.IntN(4)]
	}
	if j.killed && (a.killed || e.Outcome != entry.Finished) {
		e.Next = entry.Undone
	}
	if e.Outcome == entry.Failed {
		e.ExitCode = w.draw.Int32N(3)
	}
	w.add(e)
	a.end, a.ended = &e, w.now
	if !e.Next.Final() && j.home != 0 {
		j.Share, j.home = j.home, 0
	}
	switch e.Next {
	case entry.Again:
		j.state, j.next = ready, j.next+1
	case entry.Waits:
		j.state, j.next = waiting, j.next+1
	default:
		j.endedAt = w.now
		switch {
		case e.Outcome == entry.Cancelled || e.Next == entry.Undone:
			j.state = cancelled
		case e.Outcome == entry.Finished:
			j.state = finished
		default:
			j.state = failed
		}
	}
	w.say(a)
}

// say writes down what the pilot said, and what a rule made of it.
func (w *world) say(a *modelAttempt) {
	if w.draw.IntN(2) == 0 {
		a.message, a.log, a.meta = fmt.Sprintf("said %d", w.draw.IntN(3)), "log", w.draw.IntN(2) == 0
		w.exec(`INSERT INTO attempt_texts (job_id, attempt, ended_on, reason, log, report, outputs, metadata)
			VALUES ($1, $2, ($3::timestamptz AT TIME ZONE 'UTC')::date, $4, $5, '{"r": 1}', '{"o": 2}', CASE WHEN $6::boolean THEN '{"m": 3}'::jsonb END)`,
			a.Job, a.Attempt, a.ended, a.message, a.log, a.meta)
	}
	if a.end.Next == entry.Waits && w.draw.IntN(2) == 0 {
		a.judged = "rule x"
		w.exec("INSERT INTO judgements (job_id, attempt, note) VALUES ($1, $2, $3)", a.Job, a.Attempt, a.judged)
		at := w.now.Add(time.Hour)
		w.jobs[a.Job].tryAt = &at
		w.exec("INSERT INTO retries (job_id, task_id, due_at, attempt, shape_id, split) VALUES ($1, $2, $3, $4, $5, false)", a.Job, a.Task, at, a.Attempt, a.Shape)
	}
}

// comeBack is a rule that has decided.
func (w *world) comeBack() {
	j := w.one(waiting)
	if j == nil || w.draw.IntN(3) > 0 {
		return
	}
	id := w.idOf(j)
	w.add(entry.Enqueued{Task: j.Task, Share: j.Share, Shape: j.Shape, Place: j.Place, Low: id, High: id, Attempt: j.next, User: userOf(j.Task)})
	j.state, j.tryAt = ready, nil
	w.exec("DELETE FROM retries WHERE job_id = $1", id)
}

// drawn is a world in which so many things have happened, all of them folded.
func drawn(t testing.TB, seed uint64, things int) *world {
	t.Helper()
	w := newWorld(t, seed)
	for range things {
		switch n := w.draw.IntN(20); {
		case n < 2:
			w.pass() // the block is made before its time in the log
			w.enqueue()
		case n < 9:
			w.grant()
		case n < 11:
			w.start()
		case n < 12:
			w.revoke()
		case n < 17:
			w.end()
		case n < 18:
			w.comeBack()
			w.verb()
		default:
			w.pass()
		}
	}
	w.pass()
	w.fold()
	return w
}

func (w *world) folder() *fold.Folder { return fold.New(w.pool, w.log, nil) }

func (w *world) fold() {
	w.t.Helper()
	folder := w.folder()
	for {
		r, err := folder.Fold(context.Background(), 50)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(r.Odd) > 0 {
			w.t.Fatalf("entries do not fit: %q", r.Odd)
		}
		if r.Batches == 0 {
			break
		}
	}
	w.exec("ANALYZE")
}

// verb is what people and rules say of jobs of a task.
func (w *world) verb() {
	task := 1 + w.draw.Int64N(nTasks)
	low := w.draw.Int64N(int64(len(w.ids)) + 1)
	high := low + w.draw.Int64N(12)
	in := func(is func(*modelJob) bool, do func(*modelJob)) {
		w.each(func(id int64, j *modelJob) {
			if id >= low && id <= high && j.Task == task && is(j) {
				do(j)
			}
		})
	}
	over := func(state string) func(*modelJob) {
		return func(j *modelJob) { j.state, j.endedAt, j.tryAt = state, w.now, nil }
	}
	idle := func(j *modelJob) bool { return j.state == ready || j.state == waiting }
	switch w.draw.IntN(6) {
	case 0:
		w.paused[task] = true
		w.add(entry.Paused{Task: task})
	case 1, 2:
		delete(w.paused, task)
		w.add(entry.Resumed{Task: task})
	case 3:
		e := entry.Killed{Task: task, Low: low, High: high, Reason: "killed", GraceS: 5, Idle: w.draw.IntN(3) == 0}
		w.add(e)
		in(idle, over(cancelled))
		in(func(j *modelJob) bool { return j.state == leased }, func(j *modelJob) {
			if j.killed = true; !e.Idle {
				j.lastOne().reason = e.Reason
				j.lastOne().killed = true
			}
		})
	case 4:
		w.add(entry.Closed{Task: task, Low: low, High: high})
		in(func(j *modelJob) bool { return j.state == waiting }, func(j *modelJob) {
			over(failed)(j)
			j.next--
		})
	default:
		e := entry.Moved{Task: task, Low: low, High: high, Share: shares.ShareID(2 + w.draw.IntN(2)), Place: -9}
		w.add(e)
		in(idle, func(j *modelJob) { j.Share, j.Place = e.Share, e.Place })
		in(func(j *modelJob) bool { return j.state == leased }, func(j *modelJob) { j.home, j.Place = e.Share, e.Place })
	}
}

// shown is the state of a job as people see it.
func (w *world) shown(j *modelJob) string {
	if j.state == ready && w.paused[j.Task] {
		return waiting
	}
	return j.state
}

// each calls fn for jobs of the model that are so, by rising id.
func (w *world) each(fn func(id int64, j *modelJob)) {
	for _, id := range w.ids {
		fn(id, w.jobs[id])
	}
}

// where are the ids of jobs that are so, rising.
func (w *world) where(is func(*modelJob) bool) (ids []int64) {
	w.each(func(id int64, j *modelJob) {
		if is(j) {
			ids = append(ids, id)
		}
	})
	return ids
}

func (w *world) in(states ...string) func(*modelJob) bool {
	return func(j *modelJob) bool { return slices.Contains(states, w.shown(j)) }
}
