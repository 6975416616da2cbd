package fold

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/internal/pg"
)

// write is the transaction of a step.
func (f *Folder) write(ctx context.Context, from Position, batches []entry.Batch) (r Result, err error) {
	last := batches[len(batches)-1]
	err = pg.InTx(ctx, f.db, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, query["advance"], pg.Args{"from_seq": from.Seq, "from_id": uuid(from.ID),
			"to_seq": last.Seq, "to_id": uuid(last.ID), "to_at": last.At})
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return ErrRaced
		}
		known, err := f.know(ctx, tx, batches)
		if err != nil {
			return err
		}
		c := Build(batches, known)
		r = Result{Seq: last.Seq, Batches: len(batches), At: last.At, Odds: c.Odds, Odd: c.Odd}
		return c.write(ctx, tx, stepRow{from, last.Seq, last.At})
	})
	for _, b := range batches {
		r.Entries += len(b.Entries)
	}
	return r, err
}

// heldColumns and historyColumns are those of the tables.
var (
	heldColumns = []string{"job", "nth", "nonce", "task", "place", "units", "granted_at", "request", "attempt", "share", "shape", "queue",
		"start_delay_ms", "ttl_s", "grace_s", "pilot", "node", "reason"}
	historyColumns = []string{"job", "nonce", "task", "units", "granted_at", "ended_at", "cpu_ms", "attempt", "share", "shape", "queue",
		"start_delay_ms", "exit_code", "memory_mb", "outcome", "state", "pilot", "node"}
)

func (l Lease) columns() []any {
	return []any{l.Job, l.Nth, l.Nonce, l.Task, l.Place, int64(l.Units), l.GrantedAt, uuid(l.Request), l.Attempt, int32(l.Share), l.Shape, int32(l.Queue),
		l.StartDelayMS, l.TTLS, l.GraceS, l.Pilot, l.Node, l.Reason}
}

func (a Attempt) columns() []any {
	return []any{a.Job, a.Nonce, a.Task, int64(a.Units), a.GrantedAt, a.EndedAt, a.CPUMilli, a.Attempt, int32(a.Share), a.Shape, int32(a.Queue),
		a.StartDelayMS, a.ExitCode, a.MemoryMB, byte(a.Outcome), byte(a.State), a.Pilot, a.Node}
}

// copyRows puts rows into a table by COPY, whose WAL has a record a page: an INSERT has one a row, and one more with ON CONFLICT.
func copyRows[R interface{ columns() []any }](ctx context.Context, tx pgx.Tx, table string, columns []string, rows []R) error {
	if len(rows) == 0 {
		return nil
	}
	_, err := tx.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) { return rows[i].columns(), nil }))
	return err
}

// write writes the changes, but for the leases that ended: whoever read them took them out.
func (c Changes) write(ctx context.Context, tx pgx.Tx, step stepRow) error {
	if err := copyRows(ctx, tx, "held", heldColumns, c.Granted); err != nil {
		return err
	}
	if err := copyRows(ctx, tx, "history", historyColumns, c.History); err != nil {
		return err
	}
	if err := copyRows(ctx, tx, "over_ranges", overColumns, c.Over); err != nil {
		return err
	}
	w := writer{&pgx.Batch{}}
	w.step(step, c)
	w.leases(c)
	w.add("keep_reports", len(c.History), pg.Args{
		"jobs":     list(c.History, func(a Attempt) int64 { return a.Job }),
		"attempts": list(c.History, func(a Attempt) int32 { return a.Attempt }),
		"ends":     list(c.History, func(a Attempt) time.Time { return a.EndedAt })})
	w.ranges(c.Ranges)
	w.tasks(c.Tasks)
	w.claims(c.Claims)
	w.rest(c)
	w.counts(c.Sums)
	w.usage("add_hour_usage", c.Sums.Hours, "shares", "queues", "names")
	w.usage("add_day_usage", c.Sums.Days, "shares", "queues", "names")
	w.usage("add_task_usage", c.Sums.TaskUsage, "tasks", "shares")
	if w.batch.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, w.batch).Close()
}

// writer gathers the statements of a step, which go to PostgreSQL at once.
type writer struct{ batch *pgx.Batch }

// add has a statement run, unless it is for no rows.
func (w writer) add(name string, rows int, args pg.Args) {
	if rows > 0 {
		w.batch.Queue(query[name], args)
	}
}

func (w writer) leases(c Changes) {
	w.add("alter_held", len(c.Altered), pg.Args{
		"jobs":            list(c.Altered, func(l Lease) int64 { return l.Job }),
		"attempts":        list(c.Altered, func(l Lease) int32 { return l.Attempt }),
		"start_delays_ms": list(c.Altered, func(l Lease) int32 { return l.StartDelayMS }),
		"ttls_s":          list(c.Altered, func(l Lease) int32 { return l.TTLS }),
		"graces_s":        list(c.Altered, func(l Lease) int32 { return l.GraceS }),
		"reasons":         list(c.Altered, func(l Lease) string { return l.Reason })})
}

func (w writer) ranges(c RangeChanges) {
	w.add("remove_ranges", len(c.Removed), pg.Args{"highs": c.Removed})
	w.add("lower_ranges", len(c.Lowered), pg.Args{
		"highs": list(c.Lowered, func(r Range) int64 { return r.High }),
		"lows":  list(c.Lowered, func(r Range) int64 { return r.Low })})
	w.add("add_ranges", len(c.Added), pg.Args{
		"highs":    list(c.Added, func(r Range) int64 { return r.High }),
		"lows":     list(c.Added, func(r Range) int64 { return r.Low }),
		"tasks":    list(c.Added, func(r Range) int64 { return r.Task }),
		"places":   list(c.Added, func(r Range) int64 { return r.Place }),
		"shares":   list(c.Added, func(r Range) int32 { return int32(r.Share) }),
		"shapes":   list(c.Added, func(r Range) int32 { return r.Shape }),
		"attempts": list(c.Added, func(r Range) int32 { return r.Attempt }),
		"states":   list(c.Added, func(r Range) string { return string(r.State) })})
}

func (w writer) rest(c Changes) {
	w.add("set_expected", len(c.Expected), pg.Args{
		"shares": list(c.Expected, func(e Expected) int32 { return int32(e.Share) }),
		"shapes": list(c.Expected, func(e Expected) int32 { return e.Shape }),
		"jobs":   list(c.Expected, func(e Expected) int64 { return e.Jobs }),
		"least":  list(c.Expected, func(e Expected) int64 { return e.Least })})
	w.add("set_latest", len(c.Latest), pg.Args{
		"kinds":   list(c.Latest, func(l Latest) string { return string(l.Kind) }),
		"keys":    list(c.Latest, func(l Latest) int64 { return l.Key }),
		"names":   list(c.Latest, func(l Latest) string { return l.Name }),
		"entries": list(c.Latest, func(l Latest) string { return l.Entry })})
}

func (w writer) counts(s Sums) {
	w.add("count_tasks", len(s.Tasks), pg.Args{
		"tasks":     list(s.Tasks, func(c TaskCount) int64 { return c.Task }),
		"ready":     list(s.Tasks, func(c TaskCount) int64 { return c.Ready }),
		"paused":    list(s.Tasks, func(c TaskCount) int64 { return c.Paused }),
		"held":      list(s.Tasks, func(c TaskCount) int64 { return c.Held }),
		"waiting":   list(s.Tasks, func(c TaskCount) int64 { return c.Waiting }),
		"finished":  list(s.Tasks, func(c TaskCount) int64 { return c.Finished }),
		"failed":    list(s.Tasks, func(c TaskCount) int64 { return c.Failed }),
		"cancelled": list(s.Tasks, func(c TaskCount) int64 { return c.Cancelled }),
		"begun_us":  list(s.Tasks, func(c TaskCount) int64 { return c.BegunUS }),
		"over_us":   list(s.Tasks, func(c TaskCount) int64 { return c.OverUS }),
		"users":     list(s.Tasks, func(c TaskCount) string { return c.User })})
	w.add("count_shares", len(s.Shares), pg.Args{
		"shares": list(s.Shares, func(c ShareCount) int32 { return int32(c.Share) }),
		"shapes": list(s.Shares, func(c ShareCount) int32 { return c.Shape }),
		"queues": list(s.Shares, func(c ShareCount) int32 { return int32(c.Queue) }),
		"ready":  list(s.Shares, func(c ShareCount) int64 { return c.Ready }),
		"held":   list(s.Shares, func(c ShareCount) int64 { return c.Held }),
		"units":  list(s.Shares, func(c ShareCount) int64 { return int64(c.Units) })})
	w.add("count_ends", len(s.Ends), pg.Args{
		"hours_ms": list(s.Ends, func(c EndCount) int64 { return c.HourMS }),
		"ns":       list(s.Ends, func(c EndCount) int64 { return c.N }),
		"shares":   list(s.Ends, func(c EndCount) int32 { return int32(c.Share) }),
		"shapes":   list(s.Ends, func(c EndCount) int32 { return c.Shape }),
		"queues":   list(s.Ends, func(c EndCount) int32 { return int32(c.Queue) }),
		"outcomes": list(s.Ends, func(c EndCount) string { return string(c.Outcome) }),
		"states":   list(s.Ends, func(c EndCount) string { return string(c.State) })})
}

// usage adds to a table of usage that has these of the keys.
func (w writer) usage(name string, rows []Usage, keys ...string) {
	args := pg.Args{
		"ats_ms":         list(rows, func(u Usage) int64 { return u.AtMS }),
		"slot_ms":        list(rows, func(u Usage) int64 { return u.SlotMS }),
		"unit_ms":        list(rows, func(u Usage) int64 { return u.UnitMS }),
		"wasted_slot_ms": list(rows, func(u Usage) int64 { return u.WastedMS }),
		"cpu_ms":         list(rows, func(u Usage) int64 { return u.CPUMilli })}
	for i, name := range []string{"finished", "failed", "lost", "cancelled", "returned"} { // as outcomes
		args[name] = list(rows, func(u Usage) int64 { return u.Outcomes[i] })
	}
	for _, key := range keys {
		switch key {
		case "tasks":
			args[key] = list(rows, func(u Usage) int64 { return u.Task })
		case "shares":
			args[key] = list(rows, func(u Usage) int32 { return int32(u.Share) })
		case "queues":
			args[key] = list(rows, func(u Usage) int32 { return int32(u.Queue) })
		case "names":
			args[key] = list(rows, func(u Usage) string { return u.Name })
		}
	}
	w.add(name, len(rows), args)
}

// list is a field of all rows.
func list[R, V any](rows []R, field func(R) V) []V {
	values := make([]V, len(rows))
	for i, r := range rows {
		values[i] = field(r)
	}
	return values
}

func uuid(id entry.ID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }
