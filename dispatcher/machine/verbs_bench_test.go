package machine

import (
	"testing"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
)

// BenchmarkVerbs is what verbs about one block cost, and one about a whole task: of ten million jobs in ten thousand blocks, each at a
// place of its own, beside 100,000 leases of the task.
func BenchmarkVerbs(b *testing.B) {
	const blocks, size, leases = 10_000, 1000, 100_000
	v := siteOf(20, 20)
	m := New(Config{})
	apply := func(e entry.Entry) {
		if err := m.Apply(e); err != nil {
			b.Fatal(err)
		}
	}
	apply(entry.Tick{Now: start})
	apply(entry.Shaped{Shape: 1, Need: job.Requirements{Cores: 1}})
	apply(entry.Adopted{Number: 1, Site: &v})
	leaves := v.Tree.Leaves()
	share := v.Tree.Nodes[leaves[0]].ID
	for i := range int64(blocks) {
		apply(entry.Enqueued{Task: 1, Share: share, Shape: 1, Place: i, Low: i*size + 1, High: (i + 1) * size, Attempt: 1, User: "ann"})
	}
	for n := range leases {
		m.Decide(pullOf(n, len(v.Queues)))
	}
	block := func(i int) (low, high int64) { return int64(i%blocks)*size + 1, int64(i%blocks+1) * size }
	b.Run("placed", func(b *testing.B) {
		for i := range b.N {
			low, high := block(i)
			apply(entry.Placed{Task: 1, Low: low, High: high, Place: int64(i + 1)})
		}
	})
	b.Run("moved", func(b *testing.B) {
		for i := range b.N {
			low, high := block(i)
			apply(entry.Moved{Task: 1, Low: low, High: high, Share: v.Tree.Nodes[leaves[1+i/blocks%2]].ID, Place: int64(i), Running: true})
		}
	})
	b.Run("paused and resumed", func(b *testing.B) {
		for range b.N {
			apply(entry.Paused{Task: 1})
			apply(entry.Resumed{Task: 1})
		}
	})
	b.Run("killed one", func(b *testing.B) {
		for i := range b.N {
			id := blocks*size - int64(i)
			apply(entry.Killed{Task: 1, Low: id, High: id})
		}
	})
	b.Run("killed", func(b *testing.B) {
		for range b.N {
			apply(entry.Killed{Task: 1, Low: 1, High: blocks * size})
		}
	})
}
