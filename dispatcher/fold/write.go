package fold

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
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
		return c.write(ctx, tx, from, last)
	})
	return r, err
}

// heldColumns and the others are those of the tables.
var (
	heldColumns = []string{"job", "nth", "nonce", "task", "place", "units", "granted_at", "request", "attempt", "share", "shape", "queue",
		"start_delay_ms", "ttl_s", "grace_s", "pilot", "node", "reason"}
	historyColumns = []string{"job", "nonce", "task", "units", "granted_at", "ended_at", "cpu_ms", "attempt", "share", "shape", "queue",
		"start_delay_ms", "exit_code", "memory_mb", "outcome", "state", "pilot", "node"}
	overColumns = []string{"low", "high", "task", "nth", "at", "state"}
)

func (l Lease) columns() []any {
	return []any{l.Job, l.Nth, l.Nonce, l.Task, l.Place, int64(l.Units), l.GrantedAt, uuid(l.Request), l.Attempt, int32(l.Share), l.Shape, int32(l.Queue),
		l.StartDelayMS, l.TTLS, l.GraceS, l.Pilot, l.Node, l.Reason}
}

func (a Attempt) columns() []any {
	return []any{a.Job, a.Nonce, a.Task, int64(a.Units), a.GrantedAt, a.EndedAt, a.CPUMilli, a.Attempt, int32(a.Share), a.Shape, int32(a.Queue),
		a.StartDelayMS, a.ExitCode, a.MemoryMB, byte(a.Outcome), byte(a.State), a.Pilot, a.Node}
}

func (o Over) columns() []any { return []any{o.Low, o.High, o.Task, o.Nth, o.At, byte(o.State)} }

// copyRows puts rows into a table by COPY, whose WAL has a record a page: an INSERT has one a row, and one more with ON CONFLICT.
func copyRows[R interface{ columns() []any }](ctx context.Context, tx pgx.Tx, table string, columns []string, rows []R) error {
	if len(rows) == 0 {
		return nil
	}
	_, err := tx.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) { return rows[i].columns(), nil }))
	return err
}

// write writes the changes, except the leases that ended, which reading removed.
func (c Changes) write(ctx context.Context, tx pgx.Tx, from Position, last entry.Batch) error {
	err := copyRows(ctx, tx, "held", heldColumns, c.Granted)
	if err == nil {
		err = copyRows(ctx, tx, "history", historyColumns, c.History)
	}
	if err == nil {
		err = copyRows(ctx, tx, "over_ranges", overColumns, c.Over)
	}
	if err != nil {
		return err
	}
	all := &pgx.Batch{} // goes to PostgreSQL at once
	if len(c.Sums.Tasks) > 0 {
		all.Queue(query["add_step"], pg.Args{"seq": last.Seq, "after": from.Seq, "at": last.At,
			"tasks": list(c.Sums.Tasks, func(c TaskCount) int64 { return c.Task })})
	}
	put(all, "alter_held", c.Altered)
	put(all, "keep_reports", c.History)
	putIDs(all, "remove_ranges", c.Ranges.Removed)
	put(all, "lower_ranges", c.Ranges.Lowered)
	put(all, "add_ranges", c.Ranges.Added)
	putIDs(all, "pause_tasks", c.Tasks.Paused)
	putIDs(all, "resume_tasks", c.Tasks.Resumed)
	putIDs(all, "settle_kills", c.Tasks.Settled)
	putIDs(all, "settle_moves", c.Tasks.Settled)
	put(all, "add_kills", c.Tasks.Kills)
	put(all, "add_moves", c.Tasks.Moves)
	put(all, "set_claims", list(c.Claims.Rows, Claim.columns))
	putIDs(all, "drop_party_jobs", c.Claims.Over)
	putIDs(all, "drop_parties", c.Claims.Over)
	put(all, "set_parties", list(c.Claims.Parties, Party.columns))
	put(all, "set_claim_jobs", c.Claims.Spans)
	put(all, "set_expected", c.Expected)
	put(all, "set_latest", c.Latest)
	put(all, "count_tasks", c.Sums.Tasks)
	put(all, "count_shares", c.Sums.Shares)
	put(all, "count_ends", c.Sums.Ends)
	put(all, "add_hour_usage", c.Sums.Hours)
	put(all, "add_day_usage", c.Sums.Days)
	put(all, "add_task_usage", c.Sums.TaskUsage)
	if all.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, all).Close()
}

// put has a statement run for rows, unless there are none.
func put[R any](all *pgx.Batch, name string, rows []R) {
	if len(rows) > 0 {
		all.Queue(query[name], pg.Columns(rows))
	}
}

// putIDs is put for rows of which a statement has to know no more.
func putIDs(all *pgx.Batch, name string, ids []int64) {
	if len(ids) > 0 {
		all.Queue(query[name], pg.Args{"ids": ids})
	}
}

func list[R, V any](rows []R, field func(R) V) []V {
	values := make([]V, len(rows))
	for i, r := range rows {
		values[i] = field(r)
	}
	return values
}

func uuid(id entry.ID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

// claimColumns are the columns of claims that SQL reads; Saved holds the whole claim.
type claimColumns struct {
	ID, Task, LookUS, IdleUS  int64
	Key, State, Node, Devices string
	Queue                     shares.QueueID
	Share                     shares.ShareID
	Missing                   bool
	Sharers, Jobs             int
	MadeUS, BoundUS, EndedUS  int64
	Saved, Template           string
	gate.Payer
}

func (r Claim) columns() (c claimColumns) {
	c = claimColumns{ID: r.ID, Task: r.Task, Key: r.Key, State: string(r.Claim.State), Node: r.Claim.Place.Node, Queue: r.Queue, Payer: r.Payer,
		Share: r.Claim.Charge.Payer.Leaf, Sharers: r.Claim.Sharers, Jobs: r.Claim.Jobs, Devices: arrayOf(r.Claim.Devices),
		MadeUS: micros(r.MadeAt), BoundUS: micros(r.BoundAt), EndedUS: micros(r.EndedAt)}
	live := r.EndedAt.IsZero()
	c.Missing = live && r.Claim.Missing && !r.Claim.External && r.Claim.State == resource.ClaimPending
	if live && r.Claim.State == resource.ClaimBound && !r.Claim.Since.IsZero() {
		c.IdleUS, c.LookUS = micros(r.Claim.Since), micros(r.Claim.Since.Add(r.Claim.Template.Linger))
	}
	template, _ := json.Marshal(r.Claim.Template)
	saved, _ := json.Marshal(r.SavedClaim)
	c.Template, c.Saved = string(template), string(saved)
	return c
}

// partyColumns are those of claim_parties.
type partyColumns struct {
	Nth, Task, Jobs int64
	Claims          string
}

func (p Party) columns() partyColumns { return partyColumns{p.Nth, p.Task, p.Jobs, arrayOf(p.Claims)} }

// arrayOf writes values as PostgreSQL writes an array.
func arrayOf[V int64 | string](values []V) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = `"` + escapes.Replace(fmt.Sprint(v)) + `"`
	}
	return "{" + strings.Join(texts, ",") + "}"
}

// escapes are for what stands between quotes.
var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
