package ledger_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

// What Asked adds to the grants of a batch, by how many kinds of pulls there are in it.
func BenchmarkAsked(b *testing.B) {
	for _, n := range []int{1, 85} {
		grants, _ := lives(n)
		for _, kinds := range []int{0, 1, 5, 20} {
			b.Run(fmt.Sprintf("%d grants, %d kinds of pulls", n, kinds), func(b *testing.B) {
				table, db := ofTable(b, 1_000_000)
				entries, r, of := append([]entry.Entry{}, grants...), rand.New(rand.NewPCG(1, 1)), []rune{}
				if kinds > 0 {
					var asked entry.Asked
					for i := range kinds {
						asked.Pulls = append(asked.Pulls, entry.Ask{Cores: 1 << (i % 4), MemoryMB: 2000 << (i % 4), DiskMB: 20000, WalltimeS: 600 * int64(i+1), Most: 1})
					}
					for range grants {
						of = append(of, 'A'+rune(r.IntN(kinds)))
					}
					asked.Of = string(of)
					entries = append(entries, asked)
				}
				last := grow(b, table, entry.Batch{}, 1, 50)
				walBefore, cpuBefore := wal(b, db), serverCPU(b, db)
				for b.Loop() {
					next := after(last, 1)
					next.Entries = entries
					if _, err := table.Append(b.Context(), next); err != nil {
						b.Fatal(err)
					}
					last = next
				}
				all := float64(b.N * len(grants))
				b.ReportMetric(float64(serverCPU(b, db)-cpuBefore)/1e3/all, "pg-µs/grant")
				b.ReportMetric(float64(wal(b, db)-walBefore)/all, "wal-B/grant")
			})
		}
	}
}
