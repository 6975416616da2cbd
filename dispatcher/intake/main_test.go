package intake_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// fail is what a test, a benchmark and a draw of a property have in common.
type fail interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// house is a database with shares 1 to 9 and tasks 1 to 99 of user u<id>.
type house struct {
	*pgxpool.Pool
	t testing.TB
}

func newHouse(t testing.TB, room, size int64) *house {
	t.Helper()
	h := &house{pgtest.Open(t), t}
	h.exec(`INSERT INTO shares (id, name, path, position, leaf, weight) OVERRIDING SYSTEM VALUE
		SELECT i, 's' || i, 's' || i, i, true, 1 FROM generate_series(1, 9) AS i`)
	h.exec(`INSERT INTO tasks (id, name, user_name, state, share_id, spec) OVERRIDING SYSTEM VALUE
		SELECT i, 't' || i, 'u' || i, 'running', 1, '{}' FROM generate_series(1, 99) AS i`)
	if _, err := intake.Extend(t.Context(), h.Pool, room, size); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *house) exec(sql string, args ...any) {
	h.t.Helper()
	if _, err := h.Exec(h.t.Context(), sql, args...); err != nil {
		h.t.Fatal(sql, err)
	}
}

// one is the only value of a query.
func one[T any](t fail, h *house, sql string, args ...any) (v T) {
	t.Helper()
	if err := h.QueryRow(h.t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatal(sql, err)
	}
	return v
}

// in runs a transaction that is committed.
func (h *house) in(t fail, fn func(tx pgx.Tx) error) {
	t.Helper()
	if err := pg.InTx(h.t.Context(), h.Pool, fn); err != nil {
		t.Fatal(err)
	}
}

// shape is that of jobs with so many cores.
func (h *house) shape(t fail, cores int) (id int32) {
	t.Helper()
	h.in(t, func(tx pgx.Tx) (err error) {
		id, err = intake.Intern(h.t.Context(), tx, job.Requirements{Cores: cores})
		return err
	})
	return id
}

// enqueue makes jobs.
func (h *house) enqueue(t fail, jobs ...intake.NewJob) (ids []int64) {
	t.Helper()
	h.in(t, func(tx pgx.Tx) (err error) {
		ids, err = intake.Enqueue(h.t.Context(), tx, jobs)
		return err
	})
	return ids
}

// said is what the outbox has, row by row; it is emptied.
func (h *house) said(t fail) (rows [][]entry.Entry) {
	t.Helper()
	all, err := intake.NewOutbox(h.Pool).Pending(h.t.Context(), 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	ids := []int64{}
	for _, r := range all {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		ids, rows = append(ids, r.ID), append(rows, r.Entries)
	}
	h.exec("DELETE FROM outbox WHERE id = ANY ($1)", ids)
	return rows
}

// says fails where the outbox has other rows than these.
func (h *house) says(t fail, want ...[]entry.Entry) {
	t.Helper()
	if diff := cmp.Diff(want, h.said(t), cmpopts.EquateEmpty()); diff != "" {
		t.Fatal(diff)
	}
}

// age gives a share another aging, as a version of the site does.
func (h *house) age(t fail, share shares.ShareID, aging *shares.Aging, version int64) {
	t.Helper()
	text, err := json.Marshal(aging)
	if err != nil {
		t.Fatal(err)
	}
	h.in(t, func(tx pgx.Tx) error {
		ctx := h.t.Context()
		if err := intake.Barrier(ctx, tx); err != nil {
			return err
		}
		sql := "UPDATE shares SET plan = plan || jsonb_build_object('aging', $2::jsonb) WHERE id = $1"
		args := []any{int32(share), string(text)}
		if aging == nil {
			sql, args = "UPDATE shares SET plan = plan - 'aging' WHERE id = $1", args[:1]
		}
		if _, err := tx.Exec(ctx, sql, args...); err != nil {
			return err
		}
		return intake.Adopt(ctx, tx, version)
	})
}

// some are n jobs of a task that are alike.
func some(n int, j intake.NewJob) []intake.NewJob {
	jobs := make([]intake.NewJob, n)
	for i := range jobs {
		jobs[i] = j
		jobs[i].Index = j.Index + int64(i)
		if jobs[i].MaxAttempts == 0 {
			jobs[i].MaxAttempts = 3
		}
	}
	return jobs
}
