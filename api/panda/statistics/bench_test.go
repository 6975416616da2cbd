package statistics

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator/view"
)

// manyCounts are the counts of a site with as many shares, each with ready jobs that may run at as many queues, and jobs that
// run at a hundred of them.
type manyCounts struct {
	counts []dispatcher.Count
	queues []dispatcher.QueueStanding
}

func (m manyCounts) Loaded(context.Context) error { return nil }

func (m manyCounts) Counts() []dispatcher.Count { return m.counts }
func (m manyCounts) Ended(context.Context, time.Duration) ([]dispatcher.Count, error) {
	return nil, nil
}
func (m manyCounts) Queues() []dispatcher.QueueStanding { return m.queues }

func (m manyCounts) Work(context.Context) ([]view.Work, error) { return nil, nil }

func many(n int) manyCounts {
	var m manyCounts
	var names []string
	single := make([][]string, n)
	for i := range n {
		q := dispatcher.QueueStanding{}
		q.Name = fmt.Sprintf("QUEUE_%04d", i)
		m.queues, names, single[i] = append(m.queues, q), append(names, q.Name), []string{q.Name}
	}
	pools := []string{"default"}
	for i := range n {
		c := dispatcher.Count{Share: fmt.Sprintf("Prod/share%04d", i), Class: "SCORE", Label: "managed", State: "ready", Queues: names, Pools: pools, N: 10000}
		m.counts = append(m.counts, c)
		c.State, c.N = "leased", 10
		for j := range 100 {
			c.Queues = single[(i*7+j)%n]
			m.counts = append(m.counts, c)
		}
	}
	return m
}

// What the statistics of 1000 shares at 1000 queues with ten million ready jobs cost beside the dispatcher.
func BenchmarkStatistics(b *testing.B) {
	m := many(1000)
	s := Calls{Below: wire.Below{Timeout: time.Minute}, Jobs: m, Work: m}
	for _, call := range []string{"active_job_stats_by_site", "active_job_detailed_stats_by_site", "job_stats_by_cloud", "job_stats_by_site_and_resource_type", "job_stats_by_site_share_and_resource_type"} {
		for _, e := range s.Endpoints() {
			if e.Path != "/statistics/"+call {
				continue
			}
			b.Run(call, func(b *testing.B) {
				b.ReportAllocs()
				size := 0
				for b.Loop() {
					w := httptest.NewRecorder()
					e.Handler()(w, httptest.NewRequest(e.Method, e.Path, nil))
					size = w.Body.Len()
				}
				b.ReportMetric(float64(size), "answer_bytes")
			})
		}
	}
}
