package fold

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// mostUsers bounds what a Folder remembers of tasks.
const mostUsers = 100_000

// know reads what a step needs, and takes the leases out that end in it.
func (f *Folder) know(ctx context.Context, tx pgx.Tx, batches []entry.Batch) (k Known, err error) {
	n := NeedsOf(batches)
	k.Leases = map[int64]Lease{}
	lease := func(r *row) {
		l := r.lease()
		k.Leases[l.Job] = l
	}
	idle := func(r *row) { k.Ranges = append(k.Ranges, r.idle()) }
	err = cmp.Or(
		askOf(ctx, tx, "leases", n.Jobs, lease),
		askOf(ctx, tx, "ranges_of", n.All, idle))
	if err == nil && len(n.Ended) > 0 {
		err = ask(ctx, tx, "end_leases", pg.Columns(n.Ended), lease)
	}
	if err == nil && len(n.Spans) > 0 {
		err = ask(ctx, tx, "ranges", pg.Columns(n.Spans), idle)
	}
	if err == nil {
		k.Tasks, err = knowTasks(ctx, tx, n, k.Leases)
	}
	if err == nil {
		k.Claims, err = f.knowClaims(ctx, tx, n.Claims)
	}
	if err == nil {
		err = knowMoved(ctx, tx, n, &k)
	}
	if err != nil {
		return k, err
	}
	tasks := n.Tasks
	for _, l := range k.Leases {
		tasks = append(tasks, l.Task)
		n.Shapes = append(n.Shapes, l.Shape)
	}
	k.Users, k.Cores = f.users, f.cores
	return k, cmp.Or(f.knowUsers(ctx, tx, tasks), f.knowCores(ctx, tx, n.Shapes))
}

// knowUsers adds the users of tasks to those that are known. A task has one for ever.
func (f *Folder) knowUsers(ctx context.Context, tx pgx.Tx, tasks []int64) error {
	if len(f.users) > mostUsers {
		clear(f.users)
	}
	return askOf(ctx, tx, "users", missing(f.users, tasks), func(r *row) {
		task := r.int64()
		f.users[task] = r.text()
	})
}

// knowCores adds the cores of shapes to those that are known. A shape never changes.
func (f *Folder) knowCores(ctx context.Context, tx pgx.Tx, shapes []int32) error {
	keys := list(missing(f.cores, shapes), func(shape int32) int64 { return int64(shape) })
	return askOf(ctx, tx, "cores", keys, func(r *row) {
		shape := r.int32()
		f.cores[shape] = r.int64()
	})
}

func missing[K cmp.Ordered, V any](known map[K]V, keys []K) []K {
	lacking := slices.DeleteFunc(slices.Clone(keys), func(k K) bool { _, ok := known[k]; return ok })
	slices.Sort(lacking)
	return slices.Compact(lacking)
}

// knowTasks reads what is known of tasks beside their jobs.
func knowTasks(ctx context.Context, tx pgx.Tx, n Needs, leases map[int64]Lease) (ts Tasks, err error) {
	ts = Tasks{}
	tasks := slices.Clone(n.Named)
	for _, l := range leases {
		tasks = append(tasks, l.Task)
	}
	slices.Sort(tasks)
	tasks = slices.Compact(tasks)
	counted := slices.Clone(n.Verbs)
	err = cmp.Or(
		askOf(ctx, tx, "paused_of", tasks, func(r *row) { ts.of(r.int64()).Paused = true }),
		askOf(ctx, tx, "kills_of", tasks, func(r *row) {
			k := r.kill()
			t := ts.of(k.Task)
			t.Kills, counted = append(t.Kills, k), append(counted, k.Task)
		}),
		askOf(ctx, tx, "moves_of", tasks, func(r *row) {
			m := r.move()
			t := ts.of(m.Task)
			t.Moves, counted = append(t.Moves, m), append(counted, m.Task)
		}))
	if err != nil {
		return ts, err
	}
	return ts, askOf(ctx, tx, "held_counts", counted, func(r *row) {
		task := r.int64()
		ts.of(task).Held = r.int64()
	})
}

// knowMoved finds out what moves do to leases that the step does not name: of these it keeps sums, for there may be a million.
func knowMoved(ctx context.Context, tx pgx.Tx, n Needs, k *Known) error {
	byTask := map[int64][]Move{}
	for _, m := range n.Moves {
		byTask[m.Task] = append(byTask[m.Task], m)
	}
	k.Moved = map[int64]Moved{}
	var spans []PartySpan
	for _, p := range k.Claims.Parties {
		spans = append(spans, p.rows()...)
	}
	slices.SortFunc(spans, func(a, b PartySpan) int { return cmp.Compare(a.Low, b.Low) })
	for task, moves := range byTask {
		low, high, any := int64(maxID), int64(0), false
		for _, m := range moves {
			k.Moved[m.Nth] = Moved{map[shareQueue]*ShareCount{}, map[int64]int64{}}
			if m.Running {
				low, high, any = min(low, m.Low), max(high, m.High), true
			}
		}
		if !any {
			continue
		}
		args := pg.Args{"task": task, "low": low, "high": high, "named": append([]int64{}, n.Jobs...)}
		err := ask(ctx, tx, "held_of_task", args, func(r *row) {
			l := Lease{Granted: entry.Granted{Job: r.int64(), Task: task}}
			l.Nth, l.Units = r.int64(), shares.Units(r.int64())
			l.Share, l.Shape, l.Queue = shares.ShareID(r.int32()), r.int32(), shares.QueueID(r.int32())
			k.move(l, moves, spans)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (k *Known) move(l Lease, moves []Move, spans []PartySpan) {
	st := l.now(k.Tasks.of(l.Task).Moves)
	for _, m := range moves {
		was := st.payer
		if st.apply(l.Job, l.Nth, m); st.payer == was {
			continue
		}
		moved := k.Moved[m.Nth]
		moved.count(was, l, -1)
		moved.count(st.payer, l, +1)
		at, ok := slices.BinarySearchFunc(spans, l.Job, func(p PartySpan, job int64) int { return cmp.Compare(p.High, job) })
		if at < len(spans) && (ok || spans[at].Low <= l.Job) {
			moved.Jobs[spans[at].Party] = l.Job
		}
	}
}

func (m Moved) count(share shares.ShareID, l Lease, sign int64) {
	c := of(m.Counts, shareQueue{shareShape{share, l.Shape}, l.Queue}, ShareCount{Share: share, Shape: l.Shape, Queue: l.Queue})
	c.Held += sign
	c.Units += l.Units * shares.Units(sign)
}

// knowClaims reads the claims that a step may change. Most steps change none: then it is one query.
func (f *Folder) knowClaims(ctx context.Context, tx pgx.Tx, n ClaimNeeds) (c Claims, err error) {
	args := pg.Args{"ids": append([]int64{}, n.IDs...), "tick": n.Tick, "adopted": n.Adopted,
		"lows":  list(n.Spans, func(s ClaimSpan) int64 { return s.Low }),
		"highs": list(n.Spans, func(s ClaimSpan) int64 { return s.High }),
		"tasks": list(n.Spans, func(s ClaimSpan) int64 { return s.Task })}
	var touched []int64
	if err := ask(ctx, tx, "claims_touched", args, func(r *row) { touched = append(touched, r.int64()) }); err != nil || len(touched) == 0 {
		return c, err
	}
	err = askOf(ctx, tx, "parties_of", touched, func(r *row) { c.Parties = append(c.Parties, r.party()) })
	if err != nil {
		return c, err
	}
	for _, p := range c.Parties {
		touched = append(touched, p.Claims...)
	}
	return c, f.knowRows(ctx, tx, &c, touched)
}

// knowRows reads claims, and what the latest entries say of time and site.
func (f *Folder) knowRows(ctx context.Context, tx pgx.Tx, c *Claims, ids []int64) error {
	var number int64
	err := cmp.Or(
		askOf(ctx, tx, "claims_of", ids, func(r *row) { c.Rows = append(c.Rows, r.claim()) }),
		askAll(ctx, tx, "now_and_site", func(r *row) {
			switch e := r.entry().(type) {
			case entry.Tick:
				c.Now = e.Now
			case entry.Adopted:
				number = e.Number
			}
		}))
	if err != nil || number == 0 || f.sites == nil {
		return err
	}
	c.Site, err = f.site(ctx, number)
	return err
}

func (r *row) party() (p Party) {
	p.Nth, p.Task, p.Jobs = r.int64(), r.int64(), r.int64()
	p.Claims = r.ids()
	for span := range slices.Chunk(r.ids(), 2) {
		p.Spans = append(p.Spans, Span{Low: span[0], High: span[len(span)-1]})
	}
	return p
}

// ids stand between spaces.
func (r *row) ids() (ids []int64) {
	for _, field := range strings.Fields(string(r.next(0))) {
		id, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			r.fail(err)
		}
		ids = append(ids, id)
	}
	return ids
}

func (r *row) partySpan() PartySpan { return PartySpan{r.int64(), r.int64(), r.int64(), r.int32()} }

func (r *row) claim() (c Claim) {
	text := r.text()
	c.MadeAt, c.BoundAt, c.EndedAt = r.moment(), r.moment(), r.moment()
	if err := json.Unmarshal([]byte(text), &c.SavedClaim); err != nil {
		r.fail(fmt.Errorf("a claim: %w", err))
	}
	return c
}
