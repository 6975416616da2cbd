package meter

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// A thousand shares with five kinds of jobs each, and a thousand queues: Look is what a leader does between two batches.
func BenchmarkLarge(b *testing.B) {
	const n = 1000
	specs, queues := make([]shares.Spec, n), make([]shares.Queue, n)
	for i := range specs {
		specs[i] = shares.Spec{Name: fmt.Sprint("s", i), Plan: shares.DefaultPlan()}
		queues[i] = shares.Queue{ID: shares.QueueID(i + 1), Name: fmt.Sprint("q", i), Pool: "default", State: shares.Online, CorePowerMilli: 1000}
	}
	tree, err := shares.Build(specs)
	if err != nil {
		b.Fatal(err)
	}
	id := shares.ShareID(0)
	tree.SetIDs(func(string) shares.ShareID { id++; return id })
	p := machine.New(machine.Config{Making: time.Second, LocalWait: time.Minute})
	entries := []entry.Entry{entry.Tick{Now: start}, entry.Adopted{Number: 1, Site: &shares.Version{Number: 1, Tree: tree, Queues: queues}}}
	for shape := range int32(5) {
		entries = append(entries, entry.Shaped{Shape: shape + 1, Need: job.Requirements{Cores: int(shape) + 1}})
		for i := range int64(n) {
			low := (int64(shape)*n+i)*10 + 1
			entries = append(entries, entry.Enqueued{Task: i + 1, Share: shares.ShareID(i + 1), Shape: shape + 1, Low: low, High: low + 9, Attempt: 1},
				entry.Expected{Share: shares.ShareID(i + 1), Shape: shape + 1, Jobs: 5})
		}
	}
	for _, e := range entries {
		if err := p.Apply(e); err != nil {
			b.Fatal(err)
		}
	}
	var s Snapshot
	b.Run("look", func(b *testing.B) {
		for b.Loop() {
			s = Look(explain.Moment{View: p.View(), At: start}, QueueShares)
		}
	})
	b.Run("collect", func(b *testing.B) {
		m, lines := New(QueueShares), make(chan prometheus.Metric, 100_000)
		m.Show(s)
		for b.Loop() {
			m.Collect(lines)
			for len(lines) > 0 {
				<-lines
			}
		}
	})
	if s.Jobs.Ready != 5*n*10 || s.Jobs.ToCome == 0 {
		b.Errorf("%+v", s.Jobs)
	}
}
