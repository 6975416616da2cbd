package past

import (
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ledger"
)

// Every attempt of a day is granted once, in it, and ends later; a batch follows the one before it, and a read may be repeated.
func TestDays(t *testing.T) {
	begin := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	l := New(Config{Begin: begin, PerDay: 10, Tasks: make([]Task, 20), Queues: []Queue{{ID: 1, Name: "q", CorePowerMilli: 1000}},
		Shapes: []Shape{{1, 1}, {2, 8}}, First: 100, Seed: 1})
	held, seq, ended := map[int64]time.Time{}, int64(0), 0
	var before entry.ID
	for day, n := range []int{500, 300} {
		var jobs int64
		for _, b := range l.Add(n) {
			jobs += b.High - b.Low + 1
		}
		granted := 0
		for {
			batches, err := l.Read(t.Context(), seq, 7)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := l.Read(t.Context(), seq, 7); err != nil || len(again) != len(batches) {
				t.Fatal(len(again), len(batches), err)
			}
			if len(batches) == 0 {
				break
			}
			for _, b := range batches {
				if b.Seq != seq+1 || b.After != before || ledger.Check(b.Entries) != nil {
					t.Fatalf("batch %d after %d: %v", b.Seq, seq, ledger.Check(b.Entries))
				}
				seq, before = b.Seq, b.ID
				for _, e := range b.Entries {
					switch e := e.(type) {
					case entry.Granted:
						granted++
						if _, twice := held[e.Job]; twice {
							t.Fatalf("job %d is granted twice", e.Job)
						}
						held[e.Job] = b.At
					case entry.Ended:
						ended++
						if !b.At.After(held[e.Job]) {
							t.Fatalf("job %d ended at %s, granted at %s", e.Job, b.At, held[e.Job])
						}
					}
				}
			}
		}
		if granted != n || jobs != int64(n) || seq != int64(day+1)*minutes {
			t.Errorf("day %d: %d granted of %d jobs, %d batches", day, granted, jobs, seq)
		}
	}
	if last, id, err := l.Last(t.Context()); last != seq || id != before || err != nil || ended < 600 || ended > 800 {
		t.Errorf("%d of %d, %v, %d ended", last, seq, err, ended)
	}
	if _, err := l.Read(t.Context(), 3, 1); err == nil {
		t.Error("it can be read twice")
	}
	if _, err := l.Append(t.Context(), entry.Batch{}); err == nil {
		t.Error("it can be written")
	}
}
