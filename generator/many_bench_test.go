package generator

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/divvyhq/divvy/generator/spec"
)

// BenchmarkTenThousandTasks submits 10,000 tasks of ten jobs, five hundred a call, makes the jobs, and says pause, resume and
// kill to all: what a task costs each time, in this process and in the server, until its jobs have followed.
//
//	go test ./generator -run '^$' -bench TenThousandTasks -benchtime 1x
func BenchmarkTenThousandTasks(b *testing.B) {
	w := durableWorld(b)
	ctx := context.Background()
	const tasks, call = 10_000, 500
	phase := func(name string, do func()) {
		before, began := w.costs(b), time.Now()
		do()
		after, took := w.costs(b), time.Since(began)
		b.ReportMetric(took.Seconds(), name+"-s")
		b.ReportMetric((after.own-before.own)*1e6/tasks, name+"-own-µs/task")
		b.ReportMetric((after.server-before.server)*1e6/tasks, name+"-server-µs/task")
	}
	phase("submit", func() {
		for first := 0; first < tasks; first += call {
			all := make([]SubmitRequest, call)
			for i := range all {
				all[i].IdempotencyKey = fmt.Sprint("k", first+i)
				all[i].Spec = managed(func(s *spec.Spec) { s.Share = fmt.Sprint("s", i%100) })
			}
			for _, one := range must(b)(w.SubmitMany(ctx, all)) {
				if one.Err != nil {
					b.Fatal(one.Err)
				}
			}
		}
	})
	phase("generate", func() { steps(b, w.Generate) })
	steps(b, w.Settle)
	for _, verb := range []Verb{VerbPause, VerbResume, VerbKill} {
		phase(string(verb), func() {
			r, changed := ActRequest{Verb: verb, Selection: Selection{User: "alice"}}, 0
			for more := true; more; more = r.After != 0 {
				out, err := w.Act(ctx, r)
				if err != nil {
					b.Fatal(err)
				}
				r.After, changed = out.Next, changed+out.Changed
			}
			if changed != tasks {
				b.Fatalf("%s changed %d tasks", verb, changed)
			}
			steps(b, w.Sweep)
			steps(b, w.Settle)
		})
	}
	if n := one[int](b, w.db, "SELECT count(*) FROM counted_tasks WHERE state = 'aborted' AND n_cancelled = 10"); n != tasks {
		b.Fatalf("%d tasks are aborted", n)
	}
	b.ReportMetric(0, "ns/op")
}

// must fails where there is an error.
func must(b *testing.B) func([]Submitted, error) []Submitted {
	return func(out []Submitted, err error) []Submitted {
		if err != nil {
			b.Fatal(err)
		}
		return out
	}
}
