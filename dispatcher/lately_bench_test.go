package dispatcher

import (
	"fmt"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// BenchmarkQueuesLately is a look at 1000 queues of 1000 shares that hold jobs of 100 kinds at 100,000 places together: how
// long decisions wait for it.
func BenchmarkQueuesLately(b *testing.B) {
	specs := make([]shares.Spec, 1000)
	for i := range specs {
		specs[i] = node(fmt.Sprint("s", i), 1)
	}
	tree, err := shares.Build(specs)
	if err != nil {
		b.Fatal(err)
	}
	ids := map[string]shares.ShareID{}
	for i, n := range tree.Nodes {
		ids[n.Path] = shares.ShareID(i)
	}
	tree.SetIDs(func(path string) shares.ShareID { return ids[path] })
	d := &Dispatcher{state: newState()}
	d.state.version.Tree = tree
	for i := range 1000 {
		q := slots(fmt.Sprint("q", i), 1000)
		q.ID = shares.QueueID(i + 1)
		d.state.version.Queues = append(d.state.version.Queues, q)
		d.lately.part(q.ID, time.Now()).pulls++
	}
	for i := range 100 {
		d.state.shapes[int32(i+1)] = &shape{outline: &outline{need: job.Requirements{Cores: 1 + i%8}}}
	}
	for i := range 100_000 {
		share := shares.ShareID(1 + i%1000)
		if d.state.held[share] == nil {
			d.state.held[share] = map[heldKey]*heldCount{}
		}
		d.state.held[share][heldKey{share, int32(1 + i/1000%100), shares.QueueID(1 + i*7%1000)}] = &heldCount{jobs: 10}
	}
	b.ReportAllocs()
	for b.Loop() {
		if all := d.QueuesLately(""); len(all) != 1000 || len(all[0].Held) == 0 {
			b.Fatal(len(all))
		}
	}
}
