package generator

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/shares"
)

func TestOutlookHoldsByWhatItTook(t *testing.T) {
	began := time.Now()
	read := began.Add(40 * time.Millisecond)
	after := func(ms int) time.Time { return read.Add(time.Duration(ms) * time.Millisecond) }
	for _, c := range []struct {
		tasks        int64
		heard, lacks bool
		at           time.Time
		want         bool
	}{
		{1, false, false, after(1999), false}, // few, and yet it took long
		{1, true, false, after(200), true},
		{fewTasks + 1, true, true, after(199), false},
		{fewTasks + 1, false, false, after(1999), false},
		{fewTasks + 1, true, false, after(200), true},
		{fewTasks + 1, false, true, after(200), true},
		{fewTasks + 1, false, false, after(2000), true},
	} {
		o := outlook{soon: soonDone}
		if !o.outdated(began, func() bool { return false }) {
			t.Fatal("nothing was read yet, and it is not time")
		}
		o.heard.Store(c.heard)
		o.took(c.tasks, began, read)
		if got := o.outdated(c.at, func() bool { return c.lacks }); got != c.want {
			t.Errorf("%d tasks, heard %v, lacks %v, %v after: outdated %v", c.tasks, c.heard, c.lacks, c.at.Sub(read), got)
		}
	}
	o := outlook{soon: soonDone}
	o.took(fewTasks, began, began.Add(soonDone))
	if !o.outdated(began.Add(soonDone), func() bool { return false }) {
		t.Error("a short reading of few tasks holds")
	}
	o.took(fewTasks+1, began, began.Add(soonDone))
	if o.outdated(began.Add(soonDone), func() bool { return false }) {
		t.Error("a short reading of many tasks does not hold")
	}
	o.took(10_000, began, began.Add(time.Minute))
	if !o.outdated(began.Add(time.Minute+lookAtLeast), func() bool { return false }) {
		t.Errorf("a reading that took a minute holds longer than %v", lookAtLeast)
	}
}

// With many tasks one reading serves batch after batch, until all that it asked for is made; what has come since is
// made after a hint, or when the stock runs low.
func TestGenerateGoesByOneReading(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	w.cfg.Mark = Mark{Floor: 60, Cap: 60, Batch: 50}.withDefaults()
	for range fewTasks + 1 {
		w.submit(t, managed(func(s *spec.Spec) { s.Count = 2 }))
	}
	holds := func(soonest time.Duration) {
		w.outlook.mu.Lock()
		defer w.outlook.mu.Unlock()
		w.outlook.soonest, w.outlook.until = time.Now().Add(soonest), time.Now().Add(time.Hour)
	}
	made := func(want ...int) {
		t.Helper()
		var got []int
		for range want {
			n, err := w.Generate(ctx)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, n)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("made %v, want %v", got, want)
		}
	}
	made(50)
	share := one[shares.ShareID](t, w.db, "SELECT DISTINCT share_id FROM tasks")
	shape := one[int32](t, w.db, "SELECT DISTINCT shape_id FROM tasks")
	epoch := one[int64](t, w.db, "SELECT epoch FROM generations WHERE share_id = $1", share)
	w.outlook.mu.Lock()
	if _, left := w.outlook.left[stockKey{share: share, shape: shape}]; !left || w.outlook.heard.Load() {
		t.Errorf("it read %v, and what was heard before is still news", w.outlook.left)
	}
	w.outlook.needs = []need{{Share: share, Epoch: epoch, Wants: map[rung]int64{{shape, 0, ""}: 70}}}
	w.outlook.mu.Unlock()
	holds(time.Hour)
	made(50, 20, 0)
	w.Heard()
	made(0)
	w.submit(t, managed(func(s *spec.Spec) { s.Share, s.Count = "Prod/Rep", 5 }))
	holds(0)
	made(5)
	w.outlook.mu.Lock()
	w.outlook.needs = nil
	w.outlook.mu.Unlock()
	w.exec(t, `INSERT INTO task_counts (task, ready, paused, held, waiting, finished, failed, cancelled, user_name)
		SELECT id, 0, 0, 0, 0, n_generated, 0, 0, user_name FROM tasks`) // all is used up
	holds(0)
	made(0)
	w.stock = []dispatcher.Stock{{Share: share, Shape: shape, Ready: 29}} // what is left of the reading goes first
	epoch = one[int64](t, w.db, "SELECT epoch FROM generations WHERE share_id = $1", share)
	w.outlook.mu.Lock()
	w.outlook.needs = []need{{Share: share, Epoch: epoch, Wants: map[rung]int64{{shape, 0, ""}: 7}}}
	w.outlook.mu.Unlock()
	made(7, 50)
}
