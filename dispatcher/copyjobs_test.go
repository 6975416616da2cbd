package dispatcher

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// enqueueOne makes a share and a shape, and the jobs there; tx sees what was stored.
func enqueueOne(t *testing.T, tx pgx.Tx, jobs []NewJob) ([]int64, error) {
	t.Helper()
	var share int32
	err := tx.QueryRow(context.Background(), "INSERT INTO shares (name, path, position, leaf, weight) VALUES ('s', 's', 0, true, 1) RETURNING id").Scan(&share)
	if err != nil {
		t.Fatal(err)
	}
	shape, err := Intern(context.Background(), tx, job.Requirements{Cores: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range jobs {
		jobs[i].Share += shares.ShareID(share)
		jobs[i].Shape += shape
	}
	return Enqueue(context.Background(), tx, jobs)
}

// Ids of a call follow each other, those of the next come behind, and no step of the sequence is wasted.
func TestIdsComeInBlocks(t *testing.T) {
	tx := pgtest.Tx(t)
	var first, next int64
	for i, n := range []int{2*idBlock + 1, idBlock, 1} {
		jobs := make([]NewJob, n)
		for k := range jobs {
			jobs[k] = NewJob{Task: 1, MaxAttempts: 1, Index: int64(k)}
		}
		ids, err := enqueueOne(t, tx, jobs)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), "UPDATE shares SET name = 'past' || id, path = 'past' || id"); err != nil { // room for the next one's
			t.Fatal(err)
		}
		if i == 0 {
			first, next = ids[0], ids[0]
		}
		for k, id := range ids {
			if id != next+int64(k) {
				t.Errorf("call %d: id %d of %d is %d, want %d", i, k, n, id-first, next+int64(k)-first)
			}
		}
		next += int64((n + idBlock - 1) / idBlock * idBlock)
	}
}

// What is put in comes out, whatever is there and whatever is not.
func TestEnqueueStoresEveryField(t *testing.T) {
	tx := pgtest.Tx(t)
	jobs := []NewJob{
		{Task: 1, MaxAttempts: 3},
		{Task: 1 << 40, Priority: -7, MaxAttempts: 1, Index: 1<<40 + 1, Inputs: []string{"a"}},
		{Task: 2, Priority: 1000, MaxAttempts: 2, Inputs: []string{"", `quo"te {,}`, "größe", strings.Repeat("x", 100_000)}},
		{Task: 2, MaxAttempts: 1, Inputs: []string{}},
		{Task: 3, MaxAttempts: 1, FirstEvent: 0, Events: 5},
		{Task: 3, MaxAttempts: 1, FirstEvent: 5, Events: 1 << 33, RetryOf: 77},
	}
	ids, err := enqueueOne(t, tx, jobs)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := tx.Query(context.Background(), `SELECT id, task_id, share_id, shape_id, place, state, priority, attempt, max_attempts,
		idx, inputs, first_event, n_events, retry_of FROM jobs ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	type stored struct {
		ID, TaskID           int64
		ShareID, ShapeID     int32
		Place                int64
		State                string
		Priority             int
		Attempt, MaxAttempts int
		Idx                  int64
		Inputs               []string
		FirstEvent, NEvents  *int64
		RetryOf              *int64
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByName[stored])
	if err != nil {
		t.Fatal(err)
	}
	optional := func(v int64, there bool) *int64 {
		if there {
			return &v
		}
		return nil
	}
	var want []stored
	for i, j := range jobs {
		want = append(want, stored{ID: ids[i], TaskID: j.Task, ShareID: int32(j.Share), ShapeID: j.Shape, Place: -int64(j.Priority),
			State: "ready", Priority: j.Priority, Attempt: 1, MaxAttempts: j.MaxAttempts, Idx: j.Index, Inputs: j.Inputs,
			FirstEvent: optional(j.FirstEvent, j.Events > 0), NEvents: optional(j.Events, j.Events > 0), RetryOf: optional(j.RetryOf, j.RetryOf > 0)})
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// More jobs than a chunk of the stream takes: all are there once, and the ledger has them as one move.
func TestEnqueueManyChunks(t *testing.T) {
	tx := pgtest.Tx(t)
	const n = 5000
	jobs := make([]NewJob, n)
	for i := range jobs {
		jobs[i] = NewJob{Task: 9, MaxAttempts: 1, Index: int64(i), Inputs: []string{fmt.Sprintf("file-%d", i)}}
	}
	ids, err := enqueueOne(t, tx, jobs)
	if err != nil || len(ids) != n {
		t.Fatal(len(ids), err)
	}
	var rows, places, moves, moved int
	err = tx.QueryRow(context.Background(), `SELECT count(*), count(DISTINCT idx) FILTER (WHERE inputs = ARRAY['file-' || idx]),
		(SELECT count(*) FROM ledger), (SELECT sum(n) FROM ledger, unnest(ns) AS n) FROM jobs WHERE id BETWEEN $1 AND $2`,
		ids[0], ids[n-1]).Scan(&rows, &places, &moves, &moved)
	if err != nil || rows != n || places != n || moves != 1 || moved != n {
		t.Error(rows, places, moves, moved, err)
	}
}

// A share or a shape that is not there gets no jobs, as if it were a foreign key.
func TestEnqueueUnknownShareOrShape(t *testing.T) {
	for what, wrong := range map[string]NewJob{"share": {Share: 1000}, "shape": {Shape: 1000}} {
		t.Run(what, func(t *testing.T) {
			tx := pgtest.Tx(t)
			wrong.Task, wrong.MaxAttempts = 1, 1
			ids, err := enqueueOne(t, tx, []NewJob{{Task: 1, MaxAttempts: 1}, wrong})
			if err == nil || !strings.Contains(err.Error(), "does not exist") {
				t.Errorf("%v, %v", ids, err)
			}
			var n int
			if err := tx.QueryRow(context.Background(), "SELECT count(*) FROM jobs").Scan(&n); err != nil || n != 0 {
				t.Errorf("%d jobs, %v", n, err)
			}
		})
	}
}
