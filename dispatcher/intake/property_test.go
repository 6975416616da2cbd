package intake_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// kept is a job as whoever made it and changed it knows it.
type kept struct {
	task     int64
	share    shares.ShareID
	shape    int32
	priority int
	killed   bool
}

// model is what committed transactions have made of jobs, by themselves.
type model struct {
	mu   sync.Mutex
	step int // counts what is done, under the locks of what it is done to
	done []change
}

// change is one thing that a transaction did.
type change struct {
	step  int
	apply func(jobs map[int64]*kept)
}

// jobs are all, after what was committed in the order in which it was done.
func (m *model) jobs() map[int64]*kept {
	slices.SortFunc(m.done, func(a, b change) int { return a.step - b.step })
	jobs := map[int64]*kept{}
	for _, c := range m.done {
		c.apply(jobs)
	}
	return jobs
}

// client is one that makes and changes jobs, a transaction after the other.
type client struct {
	*house
	r       *rand.Rand
	m       *model
	pending []change // of the transaction that is open
}

var errBack = errors.New("rolled back")

// note notes what the open transaction has just done.
func (c *client) note(apply func(jobs map[int64]*kept)) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	c.m.step++
	c.pending = append(c.pending, change{c.m.step, apply})
}

// transact does one to three things in a transaction, which may be rolled back or run into others.
func (c *client) transact(ctx context.Context) error {
	err := pg.InTx(ctx, c.Pool, func(tx pgx.Tx) error {
		c.pending = nil
		if c.r.IntN(6) == 0 {
			return c.site(ctx, tx)
		}
		tasks := []int64{1 + c.r.Int64N(4), 1 + c.r.Int64N(4)}
		slices.Sort(tasks)
		for _, id := range tasks { // as the generator has them
			if _, err := tx.Exec(ctx, "SELECT FROM tasks WHERE id = $1 FOR UPDATE", id); err != nil {
				return err
			}
		}
		for range 1 + c.r.IntN(3) {
			if err := c.act(ctx, tx, tasks[c.r.IntN(2)]); err != nil {
				return err
			}
		}
		if c.r.IntN(4) == 0 {
			return errBack
		}
		return nil
	})
	if err != nil {
		if errors.Is(err, errBack) {
			err = nil
		}
		return err
	}
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	c.m.done = append(c.m.done, c.pending...)
	return nil
}

// act does one thing to a locked task.
func (c *client) act(ctx context.Context, tx pgx.Tx, task int64) error {
	of := func(change func(*kept)) func(map[int64]*kept) {
		return func(jobs map[int64]*kept) {
			for _, j := range jobs {
				if j.task == task {
					change(j)
				}
			}
		}
	}
	switch c.r.IntN(9) {
	case 8:
		verb := intake.Pause
		if c.r.IntN(2) == 0 {
			verb = intake.Resume
		}
		return verb(ctx, tx, task)
	case 0:
		if err := intake.Kill(ctx, tx, intake.Killing{Reason: "killed"}, task); err != nil {
			return err
		}
		c.note(of(func(j *kept) { j.killed = true }))
	case 1:
		ids := []int64{1 + c.r.Int64N(300), 1 + c.r.Int64N(300), 1 + c.r.Int64N(300)}
		found, err := intake.KillJobs(ctx, tx, intake.Killing{}, ids...)
		if err != nil {
			return err
		}
		c.note(func(jobs map[int64]*kept) {
			for _, id := range found {
				jobs[id].killed = true
			}
		})
	case 2:
		p := c.r.IntN(3)
		if err := intake.Prioritise(ctx, tx, task, p); err != nil {
			return err
		}
		c.note(of(func(j *kept) { j.priority = p }))
	case 3:
		m := intake.TaskMove{Task: task, From: shares.ShareID(c.r.IntN(3)), To: shares.ShareID(1 + c.r.IntN(3)), Running: true}
		if err := intake.MoveTask(ctx, tx, m); err != nil {
			return err
		}
		c.note(of(func(j *kept) {
			if m.From == 0 || j.share == m.From {
				j.share = m.To
			}
		}))
	default:
		return c.enqueue(ctx, tx, task)
	}
	return nil
}

// enqueue makes some jobs of shapes that may be new.
func (c *client) enqueue(ctx context.Context, tx pgx.Tx, task int64) error {
	var jobs []intake.NewJob
	for range 1 + c.r.IntN(3) {
		shape, err := intake.Intern(ctx, tx, job.Requirements{Cores: 1 + c.r.IntN(40)})
		if err != nil {
			return err
		}
		jobs = append(jobs, some(1+c.r.IntN(5), intake.NewJob{Task: task, Share: shares.ShareID(1 + c.r.IntN(3)), Shape: shape, Priority: c.r.IntN(3)})...)
	}
	ids, err := intake.Enqueue(ctx, tx, jobs)
	if err != nil {
		return err
	}
	c.note(func(all map[int64]*kept) {
		for i, j := range jobs {
			all[ids[i]] = &kept{task: j.Task, share: j.Share, shape: j.Shape, priority: j.Priority}
		}
	})
	return nil
}

// site does what a new version of the site does: a share gets another aging, and another one goes.
func (c *client) site(ctx context.Context, tx pgx.Tx) error {
	if err := intake.Barrier(ctx, tx); err != nil {
		return err
	}
	sql := "UPDATE shares SET plan = '{}' WHERE id = 2"
	if c.r.IntN(2) == 0 {
		sql = `UPDATE shares SET plan = '{"aging": {"per": "1h", "points": 10}}' WHERE id = 2`
	}
	if _, err := tx.Exec(ctx, sql); err != nil {
		return err
	}
	if c.r.IntN(3) == 0 {
		from, to := shares.ShareID(1+c.r.IntN(3)), shares.ShareID(1+c.r.IntN(3))
		if err := intake.MoveShare(ctx, tx, from, to); err != nil {
			return err
		}
		c.note(func(jobs map[int64]*kept) {
			for _, j := range jobs {
				if j.share == from {
					j.share = to
				}
			}
		})
	}
	return intake.Adopt(ctx, tx, 1)
}

// lead moves rows of the outbox into the log, as a leader does, until stop is closed and the outbox is empty. Some appends are lost.
func (h *house) lead(ctx context.Context, r *rand.Rand, stop <-chan struct{}) error {
	for {
		stopped := false
		select {
		case <-stop:
			stopped = true
		default:
		}
		rows, err := intake.NewOutbox(h.Pool).Pending(ctx, 1+r.IntN(5))
		if err != nil {
			return err
		}
		if len(rows) == 0 && stopped {
			return nil
		}
		err = pg.InTx(ctx, h.Pool, func(tx pgx.Tx) error {
			log := ledger.New(tx)
			seq, after, err := log.Last(ctx)
			if err != nil {
				return err
			}
			b := entry.Batch{Seq: seq + 1, After: after, By: 1}
			for i := range b.ID {
				b.ID[i] = byte(1 + r.IntN(255))
			}
			var beside ledger.Beside
			for _, row := range rows {
				b.Entries, beside.Rows = append(b.Entries, row.Entries...), append(beside.Rows, row.ID)
			}
			if _, err := log.AppendWith(ctx, b, beside); err != nil {
				return err
			}
			if r.IntN(3) == 0 {
				return errBack
			}
			return nil
		})
		lost := errors.Is(err, errBack) || errors.Is(err, ledger.ErrGone) || errors.Is(err, ledger.ErrTaken) || errors.Is(err, ledger.ErrGap)
		if err != nil && !lost {
			return err
		}
	}
}

// Four that make, change and roll back, a step that places anew and two leaders, all at once: the log makes a machine that has exactly the
// live jobs, each in its share and at its place.
func TestLogHasTheLiveJobs(t *testing.T) {
	h := newHouse(t, 1_000_000, 1_000_000)
	if _, err := ledger.New(h).Extend(t.Context(), 1_000_000, 1_000_000); err != nil {
		t.Fatal(err)
	}
	for draw := range pgtest.Draws(6) {
		t.Run(fmt.Sprint(draw), func(t *testing.T) {
			h.exec("TRUNCATE jobs, job_blocks, outbox, shapes, placings RESTART IDENTITY")
			h.exec("SELECT setval('job_ids', 1, false)")
			h.exec("UPDATE shares SET plan = '{}'")
			h.exec("TRUNCATE batches")
			m := &model{}
			h.play(t, uint64(draw), m)
			h.judge(t, m.jobs())
		})
	}
}

// play has all of them do what they do.
func (h *house) play(t *testing.T, seed uint64, m *model) {
	ctx, stop := t.Context(), make(chan struct{})
	var makers, leaders sync.WaitGroup
	for i := range uint64(4) {
		makers.Go(func() {
			c := &client{house: h, r: rand.New(rand.NewPCG(seed, i)), m: m}
			for range 12 {
				if err := c.transact(ctx); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range uint64(2) {
		leaders.Go(func() {
			if err := h.lead(ctx, rand.New(rand.NewPCG(seed, 10+i)), stop); err != nil {
				t.Error(err)
			}
		})
	}
	leaders.Go(func() {
		for over := false; !over; {
			select {
			case <-stop:
				over = true
			default:
			}
			for n := 1; n > 0; {
				var err error
				if n, err = intake.Reorder(ctx, h.Pool); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	makers.Wait()
	close(stop)
	leaders.Wait()
	if err := h.lead(ctx, rand.New(rand.NewPCG(seed, 20)), stop); err != nil { // what the last step has said
		t.Error(err)
	}
}

// judge has a machine follow the log, and a small one that knows each verb, and looks for every job.
func (h *house) judge(t *testing.T, jobs map[int64]*kept) {
	if t.Failed() {
		return
	}
	batches, err := ledger.New(h).Read(t.Context(), 0, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	f, real := follower{}, machine.New(machine.Config{})
	knowsAll := real.Apply(entry.Killed{Task: 1 << 40}) == nil && real.Apply(entry.Moved{Task: 1 << 40, Share: 1}) == nil
	for _, b := range batches {
		for _, e := range b.Entries {
			f.apply(t, e)
			if _, is := e.(entry.Adopted); is { // it has no site here
				continue
			}
			if err := real.Apply(e); err != nil && (knowsAll || !strings.Contains(err.Error(), "no such entry")) {
				t.Fatalf("%+v: %v", e, err)
			}
		}
	}
	for task := range int64(4) {
		if err := real.Apply(entry.Resumed{Task: task + 1}); err != nil && knowsAll {
			t.Fatal(err)
		}
	}
	var aging *shares.Aging
	if err := h.QueryRow(t.Context(), "SELECT plan->'aging' FROM shares WHERE id = 2").Scan(&aging); err != nil {
		t.Fatal(err)
	}
	made := h.madeAt(t)
	live := 0
	for _, id := range slices.Sorted(maps.Keys(jobs)) {
		want, got := jobs[id], f[id]
		if got == nil {
			t.Fatalf("job %d is not in the log", id)
		}
		place := -int64(want.priority)
		if want.share == 2 {
			place = aging.Place(want.priority, made[id])
		}
		if !want.killed && *got != (followed{want.task, want.share, want.shape, place, false}) || got.killed != want.killed {
			t.Errorf("job %d: the log has %+v, want %+v at %d", id, *got, *want, place)
		}
		if knowsAll && want.killed {
			continue
		}
		if !knowsAll { // it has each job as it was made
			want, place = &kept{share: f.first(id).share, shape: want.shape, task: want.task}, f.first(id).place
		}
		live++
		if err := real.Apply(entry.Granted{Job: id, Attempt: 1, Nonce: 1, Task: want.task, Share: want.share, Shape: want.shape, Place: place}); err != nil {
			t.Errorf("job %d: %v", id, err)
		}
	}
	for v := range real.View().Ready() {
		if v.Ready > 0 {
			t.Errorf("%d jobs of share %d and shape %d that nobody made", v.Ready, v.Share, v.Shape)
		}
	}
	if n := f.count(); n != len(jobs) || live == 0 {
		t.Errorf("the log has %d jobs, want %d; %d were looked for", n, len(jobs), live)
	}
}
