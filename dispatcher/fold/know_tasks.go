package fold

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

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

// move counts what moves of its task do to a lease.
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
