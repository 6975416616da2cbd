package sim

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// synthetic is a workload of n jobs at 95 % of a site of 10,000 slots: 36 leaves in two levels, weights 1 to 6, jobs of
// 1, 8 and 64 cores, in bursts.
func synthetic(tb testing.TB, n int) (Config, []Job) {
	specs := make([]shares.Spec, 6)
	for i := range specs {
		specs[i] = shares.Spec{Name: fmt.Sprintf("g%d", i), Plan: shares.DefaultPlan()}
		specs[i].Plan.Weight = float64(i + 1)
		for k := range 6 {
			leaf := shares.Spec{Name: fmt.Sprintf("l%d", k), Plan: shares.DefaultPlan()}
			leaf.Plan.Weight = float64(6 - k)
			specs[i].Children = append(specs[i].Children, leaf)
		}
	}
	tree, err := shares.Build(specs)
	if err != nil {
		tb.Fatal(err)
	}
	leaves := tree.Leaves()
	random := rand.New(rand.NewPCG(1, 2))
	const slots, meanCores, meanRun = 10_000, 0.9*1 + 0.09*8 + 0.01*64, 3600.0
	gap := meanCores * meanRun / (0.95 * slots) // seconds between arrivals
	jobs := make([]Job, n)
	at := 0.0
	leaf := leaves[0]
	for i := range jobs {
		at += random.ExpFloat64() * gap
		if i%20 == 0 {
			leaf = leaves[random.IntN(len(leaves))]
		}
		cores := shares.Units(1)
		switch x := random.Float64(); {
		case x > 0.99:
			cores = 64
		case x > 0.9:
			cores = 8
		}
		jobs[i] = Job{ID: int64(i), Leaf: leaf, At: time.Duration(at * 1e9).Truncate(time.Second), Units: cores * 1000,
			Runtime: time.Duration(random.ExpFloat64() * meanRun * 1e9).Truncate(time.Second)}
	}
	return Config{Tree: tree, Capacity: slots * 1000}, jobs
}

// BenchmarkMillion is a million jobs under each rule.
func BenchmarkMillion(b *testing.B) {
	c, jobs := synthetic(b, 1_000_000)
	for _, rule := range Rules {
		b.Run(rule.Name(), func(b *testing.B) {
			for b.Loop() {
				c.Rule = rule
				r, err := Run(c, jobs)
				if err != nil || r.Shares[0].Started != len(jobs) {
					b.Fatal(err, r.Shares[0])
				}
				b.ReportMetric(r.Shares[0].Wait.P99, "wait_p99_s")
			}
		})
	}
}
