package web

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/divvyhq/divvy/dispatcher"
)

// BenchmarkQueuesPage is a page of queues of a site that has 1000, each held by twelve shares: asked for, sorted, written.
func BenchmarkQueuesPage(b *testing.B) {
	s := newStage(b)
	for i := range 1000 {
		name := fmt.Sprintf("Q%04d", i)
		s.world.queues = append(s.world.queues, queueNamed(i+1, name, 100, int64(i%100)))
		l := dispatcher.QueueLately{Queue: name}
		for k := range 12 {
			l.Held = append(l.Held, dispatcher.QueueHeld{Share: fmt.Sprint("Production/S", k), Cores: int64(i%100) / 12, Jobs: 1})
		}
		s.world.lately = append(s.world.lately, l)
	}
	b.ReportAllocs()
	for b.Loop() {
		if w := s.call(http.MethodGet, "/queues?sort=held", nil, "text/html"); w.Code != http.StatusOK {
			b.Fatal(w.Code, w.Body)
		}
	}
}
