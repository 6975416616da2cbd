package dispatcher

import (
	"context"
	"slices"
	"testing"

	"github.com/divvyhq/divvy/shares"
)

// The jobs of tasks whose batches come in turn are found by their tasks, all of them, in order; ranges go when their jobs have.
func TestRanges(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d := f.daemon()
	want := map[int64][]int64{}
	for i := range 12 {
		task := int64(1 + i%2)
		ids := f.enqueue(batch{share: "A", n: 1 + i%5, task: task})
		want[task] = append(want[task], ids...)
	}
	ranges := func() (n int) { f.scan(&n, "SELECT count(*) FROM job_ranges"); return n }
	if n := ranges(); n != 12 {
		t.Fatalf("%d ranges, want one of each batch", n)
	}
	found := func(task int64) (ids []int64) {
		for after := int64(0); ; {
			jobs, next, err := d.TaskJobs(context.Background(), JobFilter{Task: task, After: after, Limit: 3})
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range jobs {
				ids = append(ids, j.ID)
			}
			if after = next; next == 0 {
				return ids
			}
		}
	}
	for task, ids := range want {
		if got := found(task); !slices.Equal(got, ids) {
			t.Errorf("task %d: %v, want %v", task, got, ids)
		}
	}
	f.exec("DELETE FROM jobs WHERE task_id = 2 OR id = ANY ($1)", want[1][:1]) // the first batch of task 1 was of one job
	f.enqueue(batch{share: "A", n: 2, task: 1})
	if n, err := d.purgeRanges(context.Background()); n != 7 || err != nil || ranges() != 6 {
		t.Errorf("%d went, %d are left, %v; want those of task 2, and one of task 1", n, ranges(), err)
	}
	if n, err := d.purgeRanges(context.Background()); n != 0 || err != nil {
		t.Errorf("again: %d, %v", n, err)
	}
	if n, err := d.purgeReadyRanges(context.Background()); n != 7 || err != nil {
		t.Errorf("of the ready order %d went, %v; want as many", n, err)
	}
}

// Jobs of one share, shape and place are pulled in the order of their ids, wherever a few have been elsewhere; and nobody looks for
// a job twice.
func TestReadyOrderOfDisplacedJobs(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 100))
	var ids []int64
	for i := range 4 {
		ids = append(ids, f.enqueue(batch{share: "A", n: 5, task: int64(1 + i%2)})...)
	}
	f.exec("UPDATE jobs SET place = 3 WHERE id = ANY ($1)", []int64{ids[1], ids[7]})
	f.exec("UPDATE jobs SET place = 0 WHERE id = ANY ($1)", []int64{ids[1]})
	f.exec("UPDATE jobs SET state = 'waiting' WHERE id = $1", ids[12])
	f.exec("UPDATE jobs SET state = 'ready' WHERE id = $1", ids[12])
	var displaced int
	if f.scan(&displaced, "SELECT count(*) FROM jobs WHERE displaced"); displaced != 3 {
		t.Fatalf("%d are displaced, want three", displaced)
	}
	want := slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return id == ids[7] })
	want = append(want, ids[7]) // its place is behind theirs
	d := f.daemon()
	for i, id := range want {
		if l := pull1(t, d, "q"); l.Job != id {
			t.Fatalf("pull %d has job %d, want %d of %v", i, l.Job, id, want)
		}
	}
}

// What makes jobs and knows nothing of ranges, as daemons of before and people do, has one for each job by task, and those are pulled in
// their order among the others.
func TestRangesOfOthers(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d := f.daemon()
	made := f.enqueue(batch{share: "A", n: 3, task: 1})
	f.exec(`INSERT INTO jobs (task_id, share_id, shape_id, place, priority, max_attempts, idx)
		SELECT task_id, share_id, shape_id, place, priority, max_attempts, idx + 3 FROM jobs`)
	jobs, _, err := d.TaskJobs(context.Background(), JobFilter{Task: 1})
	if err != nil || len(jobs) != 6 || jobs[0].ID != made[0] {
		t.Fatalf("%v, %v; want six", jobs, err)
	}
	other := f.daemon()
	for i, j := range jobs {
		if l := pull1(t, other, "q"); l.Job != j.ID {
			t.Fatalf("pull %d has job %d, want %d", i, l.Job, j.ID)
		}
	}
	f.exec("TRUNCATE job_ranges, ready_ranges")
	missed, err := RecountRanges(context.Background(), f.pool)
	if err != nil || len(missed) != 6 || missed[0] != (MissedJob{made[0], 1, true, true}) || missed[5] != (MissedJob{jobs[5].ID, 1, true, false}) {
		t.Fatalf("%v, %v; want all six, the first three by both", missed, err)
	}
	if n, err := CorrectRanges(context.Background(), f.pool, nil); n != 6 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if missed, err = RecountRanges(context.Background(), f.pool); len(missed) > 0 || err != nil {
		t.Errorf("%v, %v", missed, err)
	}
}
