package intake_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// followed is a job as the log has it.
type followed struct {
	task   int64
	share  shares.ShareID
	shape  int32
	place  int64
	killed bool
}

// follower is the smallest thing that knows the entries of intake: job by job. Below 0 is each job as it was made.
type follower map[int64]*followed

func (f follower) first(id int64) *followed { return f[-id] }

func (f follower) count() int { return len(f) / 2 }

func (f follower) apply(t *testing.T, e entry.Entry) {
	t.Helper()
	each := func(task, low, high int64, change func(*followed)) {
		for id, j := range f {
			if id >= low && id <= high && j.task == task {
				change(j)
			}
		}
	}
	switch e := e.(type) {
	case entry.Enqueued:
		for id := e.Low; id <= e.High; id++ {
			if f[id] != nil {
				t.Fatalf("job %d comes twice", id)
			}
			j := followed{e.Task, e.Share, e.Shape, e.Place, false}
			first := j
			f[id], f[-id] = &j, &first
		}
	case entry.Killed:
		each(e.Task, e.Low, e.High, func(j *followed) { j.killed = true })
	case entry.Placed:
		each(e.Task, e.Low, e.High, func(j *followed) { j.place = e.Place })
	case entry.Moved:
		each(e.Task, e.Low, e.High, func(j *followed) {
			if e.From == 0 || j.share == e.From {
				j.share, j.place = e.Share, e.Place
			}
		})
	}
}

// madeAt is when each job was made.
func (h *house) madeAt(t *testing.T) map[int64]time.Time {
	t.Helper()
	rows, err := h.Query(t.Context(), "SELECT j.id, b.made_at FROM jobs j JOIN job_blocks b ON j.id BETWEEN b.low AND b.high")
	if err != nil {
		t.Fatal(err)
	}
	at := map[int64]time.Time{}
	var id int64
	var made time.Time
	if _, err := pgx.ForEachRow(rows, []any{&id, &made}, func() error { at[id] = made; return nil }); err != nil {
		t.Fatal(err)
	}
	return at
}
