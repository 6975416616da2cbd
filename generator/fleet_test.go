package generator

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

// logbook appends to the log what tests say, and all of the outbox before it, and folds it: a leader without a machine.
type logbook struct {
	mu    sync.Mutex
	db    *pgxpool.Pool
	store *site.Store
	log   *ledger.Table
	fold  *fold.Folder
	room  int64 // batches that the log has partitions for
}

func newLogbook(db *pgxpool.Pool, store *site.Store) *logbook {
	b := &logbook{db: db, store: store}
	b.open()
	return b
}

func (b *logbook) open() {
	b.log, b.room = ledger.New(b.db), 0
	b.fold = fold.New(b.db, b.log, b.store.At)
}

// sync brings the outbox into the log.
func (b *logbook) sync(ctx context.Context) error { return b.append(ctx, nil) }

func (b *logbook) append(ctx context.Context, entries []entry.Entry, texts ...ledger.Text) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	rows, err := intake.NewOutbox(b.db).Pending(ctx, 1_000_000)
	if err != nil {
		return err
	}
	var all []entry.Entry
	beside := ledger.Beside{Texts: texts}
	for _, r := range rows {
		if r.Err != nil {
			return r.Err
		}
		beside.Rows, all = append(beside.Rows, r.ID), append(all, r.Entries...)
	}
	if all = append(all, entries...); len(all) == 0 {
		return nil
	}
	seq, after, err := b.log.Last(ctx)
	if err != nil {
		return err
	}
	if seq >= b.room {
		if _, err := b.log.Extend(ctx, 10_000, 1_000_000); err != nil {
			return err
		}
		b.room = seq + 10_000
	}
	batch := entry.Batch{Seq: seq + 1, After: after, By: 99, Entries: all}
	if _, err := rand.Read(batch.ID[:]); err != nil {
		return err
	}
	if _, err := b.log.AppendWith(ctx, batch, beside); err != nil {
		return err
	}
	r, err := b.fold.Fold(ctx, 1_000_000)
	if err == nil && r.Odds > 0 {
		err = fmt.Errorf("the log has %d entries that do not fit: %v", r.Odds, r.Odd)
	}
	return err
}

// reset empties all but the site.
func (w *world) reset(t tb) {
	t.Helper()
	var tables []string
	rows, err := w.db.Query(context.Background(), `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
		AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> ALL ($1)`, []string{"site_versions", "site_later", "shares", "queues", "tag_rules",
		"site_resources", "shapes", "folded", "settled", "judged", "waited", "rolled", "lineage", "goose_db_version", "divvy_schema_version", "latest"})
	if err == nil {
		tables, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	if err != nil {
		t.Fatal(err)
	}
	sql := ""
	for _, name := range tables {
		sql += "DELETE FROM " + pgx.Identifier{name}.Sanitize() + ";"
	}
	w.exec(t, sql)
	w.exec(t, "UPDATE folded SET seq = 0, id = '00000000-0000-0000-0000-000000000000', at = 'epoch'")
	w.exec(t, "UPDATE settled SET seq = 0")
	w.book.open()
}

// fleet stands for the dispatcher's pilots: it leases jobs and ends attempts, as a leader would have it in the log, but which and when a test
// says so.
type fleet struct {
	db *world
}

func (f *fleet) say(t tb, entries []entry.Entry, texts ...ledger.Text) {
	t.Helper()
	if err := f.db.book.append(context.Background(), entries, texts...); err != nil {
		t.Fatal(err)
	}
}

func read[T any](t tb, w *world, sql string, args ...any) []T {
	t.Helper()
	rows, err := w.db.Query(context.Background(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// lease starts up to n ready jobs, by priority.
func (f *fleet) lease(t tb, n int) int {
	t.Helper()
	f.say(t, nil)
	picked := read[struct {
		Job, Task, Place int64
		Attempt          int32
		Share            shares.ShareID
		Shape            int32
	}](t, f.db, `SELECT j AS job, r.task, r.place, r.attempt, r.share, r.shape
		FROM idle_ranges r CROSS JOIN LATERAL generate_series(r.low, r.high) AS j
		WHERE r.state = 'r' ORDER BY r.place, j LIMIT $1`, n)
	var granted []entry.Entry
	for _, p := range picked {
		granted = append(granted, entry.Granted{Job: p.Job, Attempt: p.Attempt, Nonce: 1, Task: p.Task, Share: p.Share, Shape: p.Shape, Place: p.Place,
			Queue: 1, Units: 1000, Pilot: "p", Node: "n"})
	}
	f.say(t, granted)
	return len(picked)
}

// prefer has jobs of a task come first, by the indexes of their pieces.
func (f *fleet) prefer(t tb, task int64, pieces ...int64) {
	t.Helper()
	f.say(t, nil)
	var placed []entry.Entry
	for _, j := range read[struct{ ID int64 }](t, f.db, "SELECT id FROM live_jobs WHERE task_id = $1 AND idx = ANY ($2)", task, pieces) {
		placed = append(placed, entry.Placed{Task: task, Low: j.ID, High: j.ID, Place: -9})
	}
	f.say(t, placed)
}

// splitSmaller is an outcome: failed, and the rule that matches says split_smaller.
const splitSmaller = "split"

// running is a lease, as it matters for what becomes of its job.
type running struct {
	Job, Task   int64
	Attempt     int32
	MaxAttempts int32
	Shape       int32
	Ordered     bool // to end
	Unwanted    bool // it goes on, and is not tried again
}

// end gives up to n running jobs an outcome. One that failed with attempts left, and whose task wants it still, is
// ready again, or waits to be split; a cancel order wins over that.
func (f *fleet) end(t tb, outcome string, n int) int {
	t.Helper()
	return f.endAs(t, outcome, n, entry.Ended{}, ledger.Text{})
}

// endAs is end with what pilots said of the attempts.
func (f *fleet) endAs(t tb, outcome string, n int, said entry.Ended, text ledger.Text) int {
	t.Helper()
	f.say(t, nil)
	gone := read[running](t, f.db, `SELECT h.job, h.task, h.attempt, b.max_attempts, h.shape, h.reason <> '' OR coalesce(NOT k.idle, false) AS ordered,
			coalesce(k.idle, false) AS unwanted
		FROM held h
		CROSS JOIN LATERAL (SELECT b.max_attempts FROM job_blocks b WHERE b.low <= h.job ORDER BY b.low DESC LIMIT 1) b
		LEFT JOIN LATERAL (
			SELECT o.idle FROM kills o WHERE o.task = h.task AND h.job BETWEEN o.low AND o.high AND o.nth > h.nth ORDER BY o.idle, o.nth DESC LIMIT 1
		) k ON true
		ORDER BY md5(h.job::text) LIMIT $1`, n)
	var ended []entry.Entry
	var texts []ledger.Text
	var split []intake.Waiting
	for _, g := range gone {
		e := said
		e.Job, e.Attempt = g.Job, g.Attempt
		e.Outcome, e.Next = g.next(outcome)
		if e.Next == entry.Waits {
			split = append(split, intake.Waiting{Job: g.Job, Task: g.Task, Shape: g.Shape, Attempt: int(g.Attempt) + 1})
		}
		ended = append(ended, e)
		if text.Size() > 0 {
			text.Job, text.Attempt = g.Job, g.Attempt
			texts = append(texts, text)
		}
	}
	f.say(t, ended, texts...)
	if len(split) > 0 {
		err := pg.InTx(context.Background(), f.db.db, func(tx pgx.Tx) error { return intake.AwaitSplit(context.Background(), tx, split...) })
		if err != nil {
			t.Fatal(err)
		}
	}
	return len(gone)
}

func (r running) next(outcome string) (entry.Outcome, entry.Next) {
	as := entry.Failed
	switch outcome {
	case "finished":
		return entry.Finished, entry.Over
	case "lost":
		as = entry.Lost
	}
	switch {
	case r.Ordered:
		return as, entry.Undone
	case r.Attempt >= r.MaxAttempts:
		return as, entry.Over
	case r.Unwanted:
		return as, entry.Undone
	case outcome == splitSmaller:
		return as, entry.Waits
	}
	return as, entry.Again
}

// kill ends up to n jobs as people do: those that run as soon as their attempts end.
func (f *fleet) kill(t tb, n int) {
	t.Helper()
	f.say(t, nil)
	ctx := context.Background()
	err := pg.InTx(ctx, f.db.db, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, "SELECT id FROM live_jobs ORDER BY md5(id::text) LIMIT $1", n)
		if err != nil {
			return err
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return err
		}
		_, err = intake.KillJobs(ctx, tx, judge.Killed, ids...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	f.say(t, nil)
}

// outputs is what a pilot says that it made.
func outputs(t tb, made any) ledger.Text {
	t.Helper()
	text, err := json.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	return ledger.Text{Outputs: text}
}

// recount compares the counts of all tasks with the jobs that there are. The log must be settled.
func (w *world) recount(t tb) {
	t.Helper()
	all := read[struct {
		ID, NGenerated, NJobs, NPieces, Jobs, PiecesFinished, Finished, Gone int64
		State                                                                string
		Ended, Counted                                                       bool
	}](t, w, `
		SELECT t.id, t.state, t.n_generated, t.n_jobs, t.n_pieces, t.ended_at IS NOT NULL AS ended,
			t.n_waiting = l.waiting AND t.n_ready = l.ready AND t.n_leased = l.leased AND t.n_finished = e.finished AND t.n_failed = e.failed
				AND t.n_cancelled = e.cancelled AS counted,
			l.waiting + l.ready + l.leased + e.finished + e.failed + e.cancelled AS jobs, e.pieces_finished, e.finished, e.gone
		FROM counted_tasks t
		CROSS JOIN LATERAL (
			SELECT count(*) FILTER (WHERE leased) AS leased, count(*) FILTER (WHERE state = 'ready' AND NOT leased) AS ready,
				count(*) FILTER (WHERE state = 'waiting') AS waiting
			FROM live_jobs WHERE task_id = t.id
		) l
		CROSS JOIN LATERAL (
			SELECT count(*) FILTER (WHERE state = 'finished') AS finished, count(*) FILTER (WHERE state = 'failed') AS failed,
				count(*) FILTER (WHERE state = 'cancelled') AS cancelled,
				count(DISTINCT idx) FILTER (WHERE state = 'finished') AS pieces_finished,
				count(DISTINCT idx) FILTER (WHERE scaled_away)
					- count(DISTINCT idx) FILTER (WHERE scaled_away AND state = 'finished') AS gone
			FROM over_jobs WHERE task_id = t.id
		) e`)
	for _, a := range all {
		switch {
		case !a.Counted:
			t.Fatalf("counts differ from the jobs: %+v", a)
		case a.Jobs != a.NGenerated:
			t.Fatalf("%d jobs of a task that generated %d: %+v", a.Jobs, a.NGenerated, a)
		case a.PiecesFinished != a.Finished:
			t.Fatalf("a piece finished twice: %+v", a)
		case (a.State == "done") != (a.Ended && a.State != "aborted" && a.Finished+a.Gone == a.NPieces):
			t.Fatalf("done means every piece finished that is wanted: %+v", a)
		}
	}
}
