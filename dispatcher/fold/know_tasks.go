package fold

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// knowTasks reads what is known of tasks beside their jobs.
func knowTasks(ctx context.Context, tx pgx.Tx, n Needs, leases map[int64]Lease) (ts Tasks, err error) {
	ts = Tasks{Paused: map[int64]bool{}, Held: map[int64]int64{}, Kills: map[int64][]Kill{}, Moves: map[int64][]Move{}}
	tasks := slices.Clone(n.Named)
	for _, l := range leases {
		tasks = append(tasks, l.Task)
	}
	slices.Sort(tasks)
	tasks = slices.Compact(tasks)
	counted := slices.Clone(n.Verbs)
	err = cmp.Or(
		askOf(ctx, tx, "paused_of", tasks, func(r *row) { ts.Paused[r.int64()] = true }),
		askOf(ctx, tx, "kills_of", tasks, func(r *row) {
			k := r.kill()
			ts.Kills[k.Task], counted = append(ts.Kills[k.Task], k), append(counted, k.Task)
		}),
		askOf(ctx, tx, "moves_of", tasks, func(r *row) {
			m := r.move()
			ts.Moves[m.Task], counted = append(ts.Moves[m.Task], m), append(counted, m.Task)
		}))
	if err != nil {
		return ts, err
	}
	return ts, askOf(ctx, tx, "held_counts", counted, func(r *row) {
		task := r.int64()
		ts.Held[task] = r.int64()
	})
}

// knowMoved finds out what moves do to leases that the step does not name: of these it keeps sums, for there may be a million.
func knowMoved(ctx context.Context, tx pgx.Tx, n Needs, k *Known) error {
	byTask := map[int64][]Move{}
	for _, m := range n.Moves {
		byTask[m.Task] = append(byTask[m.Task], m)
	}
	k.Moved = map[int64]Moved{}
	for task, moves := range byTask {
		low, high, any := int64(maxID), int64(0), false
		for _, m := range moves {
			if m.Running {
				low, high, any = min(low, m.Low), max(high, m.High), true
			}
		}
		if !any {
			continue
		}
		sums := newMovedSums(k, moves)
		args := pg.Args{"task": task, "low": low, "high": high, "named": append([]int64{}, n.Jobs...)}
		err := ask(ctx, tx, "held_of_task", args, func(r *row) {
			var l Lease
			l.Job, l.Nth, l.Units = r.int64(), r.int64(), shares.Units(r.int64())
			l.Share, l.Shape, l.Queue = shares.ShareID(r.int32()), r.int32(), shares.QueueID(r.int32())
			sums.add(l, k.Tasks.Moves[task])
		})
		if err != nil {
			return err
		}
		sums.put(k.Moved)
	}
	return nil
}

// movedSums are Moved in the making.
type movedSums struct {
	moves   []Move
	counts  []map[shareQueue]*ShareCount // by move
	parties []map[int64]int64            // by move: a job of each party
	spans   []PartySpan
}

func newMovedSums(k *Known, moves []Move) *movedSums {
	s := &movedSums{moves: moves}
	for range moves {
		s.counts, s.parties = append(s.counts, map[shareQueue]*ShareCount{}), append(s.parties, map[int64]int64{})
	}
	for _, p := range k.Claims.Parties {
		s.spans = append(s.spans, p.rows()...)
	}
	slices.SortFunc(s.spans, func(a, b PartySpan) int { return cmp.Compare(a.Low, b.Low) })
	return s
}

func (s *movedSums) add(l Lease, known []Move) {
	st := l.now(known)
	for i, m := range s.moves {
		was := st.payer
		if st.apply(l.Job, l.Nth, m); st.payer == was {
			continue
		}
		for share, sign := range map[shareQueue]int64{{shareShape{was, l.Shape}, l.Queue}: -1, {shareShape{st.payer, l.Shape}, l.Queue}: 1} {
			c := of(s.counts[i], share, ShareCount{Share: share.share, Shape: share.shape, Queue: share.queue})
			c.Held += sign
			c.Units += l.Units * shares.Units(sign)
		}
		at, ok := slices.BinarySearchFunc(s.spans, l.Job, func(p PartySpan, job int64) int { return cmp.Compare(p.High, job) })
		if at < len(s.spans) && (ok || s.spans[at].Low <= l.Job) {
			s.parties[i][s.spans[at].Party] = l.Job
		}
	}
}

func (s *movedSums) put(into map[int64]Moved) {
	for i, m := range s.moves {
		moved := Moved{}
		for _, c := range s.counts[i] {
			moved.Counts = append(moved.Counts, *c)
		}
		for _, job := range s.parties[i] {
			moved.Jobs = append(moved.Jobs, job)
		}
		into[m.Nth] = moved
	}
}
