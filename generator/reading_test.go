package generator

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/shares"
)

// With many tasks one reading serves batch after batch, until all that it asked for is made; what has come since is
// made after a hint, or when the stock runs low. Each reading takes 100 ms: it holds for half a second, whatever comes.
func TestGenerateGoesByOneReading(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	var clock atomic.Int64 // ms
	readings := 0
	w.Generator.broker = broker.New(broker.Config{Pool: w.db, Mark: broker.Mark{Floor: 60, Cap: 60, Batch: 50}, Stock: func() []dispatcher.Stock { return w.stock },
		Now: func() time.Time { return time.UnixMilli(clock.Load()) },
		Order: func(context.Context, []dispatcher.Coming) ([]shares.ShareID, error) {
			readings++
			clock.Add(100)
			return nil, nil
		}})
	for range 101 {
		w.submit(t, managed(func(s *spec.Spec) { s.Count = 2 }))
	}
	share := one[shares.ShareID](t, w.db, "SELECT DISTINCT share_id FROM tasks")
	shape := one[int32](t, w.db, "SELECT DISTINCT shape_id FROM tasks")
	made := func(read int, want ...int) {
		t.Helper()
		var got []int
		for range want {
			n, err := w.Generate(ctx)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, n)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || readings != read {
			t.Errorf("made %v by %d readings, want %v by %d", got, readings, want, read)
		}
	}
	made(1, 50, 50, 20, 0) // twice the mark, and what was heard before it is no news
	clock.Add(499)
	w.Heard()
	w.submit(t, managed(func(s *spec.Spec) { s.Share, s.Count = "Prod/Rep", 5 }))
	made(1, 0)
	clock.Add(1)
	made(2, 5, 0)
	w.exec(t, `INSERT INTO task_counts (task, ready, paused, held, waiting, finished, failed, cancelled, user_name)
		SELECT id, 0, 0, 0, 0, n_generated, 0, 0, user_name FROM tasks`) // all is used up
	clock.Add(1100)
	made(2, 0)
	w.stock = []dispatcher.Stock{{Share: share, Shape: shape, Ready: 30}}
	made(2, 0)
	w.stock[0].Ready = 29 // less than half of the mark
	made(3, 50)
	clock.Add(500)
	made(3, 32) // what is left of a reading goes first
}
