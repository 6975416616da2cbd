package pilot

import (
	"context"
	"fmt"
	"testing"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pilot/payload"
)

// BenchmarkTurnover is what lies between two jobs of one slot, and the start of one: finish, pull, folder, fork,
// exec. The server takes no time, and a job's own 50 ms are not counted.
func BenchmarkTurnover(b *testing.B) {
	for _, slots := range []int{1, 8} {
		b.Run(fmt.Sprintf("slots=%d", slots), func(b *testing.B) {
			s := newFake()
			s.renewS = 60
			for range b.N * slots {
				s.add(wire.Lease{Command: []string{"sleep", "0.05"}})
			}
			b.ResetTimer()
			err := Run(context.Background(), Config{Client: s, Queue: "CERN", Slots: slots, Payload: payload.Config{WorkDir: b.TempDir()}, MaxJobs: b.N * slots})
			if err != nil || len(s.results) != b.N*slots {
				b.Fatalf("%v, %d results of %d", err, len(s.results), b.N*slots)
			}
			b.ReportMetric((b.Elapsed().Seconds()/float64(b.N)-0.05)*1e3, "ms/gap")
		})
	}
}
