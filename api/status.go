package api

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/shares"
)

func (s *server) statusRoutes() {
	route(s.doc, huma.Operation{
		OperationID: "get-status", Method: http.MethodGet, Path: "/v1/status", Tags: []string{"daemon"}, Summary: "Show how the site stands",
	}, s.status)
	health := reflect.TypeFor[wire.Health]()
	s.doc.add(huma.Operation{
		OperationID: "get-health", Method: http.MethodGet, Path: "/healthz", Tags: []string{"daemon"}, Summary: "The process answers",
		Security: []map[string][]string{},
	}, nil, health)
	s.doc.add(huma.Operation{
		OperationID: "get-ready", Method: http.MethodGet, Path: "/readyz", Tags: []string{"daemon"}, Summary: "The daemon can serve; 503 with the reason when not",
		Security: []map[string][]string{},
	}, nil, health)
}

func (s *server) status(ctx context.Context, _ *struct{}) (wire.Status, error) {
	st := wire.Status{Build: s.Build, StartedAt: s.began, Ready: true, Pools: []wire.PoolStatus{}}
	if s.Ready != nil {
		if err := s.Ready(ctx); err != nil {
			st.Ready, st.Reason = false, err.Error()
		}
	}
	standing := s.dispatcher.Standing()
	st.Site = standing.Version
	for _, p := range standing.Pools {
		st.Pools = append(st.Pools, wire.PoolStatus{Pool: p.Pool, Capacity: p.Capacity, Held: p.Held})
	}
	st.ReadyJobs, st.HeldJobs = liveJobs(standing)
	by := map[shares.QueueState]*int{shares.Online: &st.Queues.Online, shares.Drain: &st.Queues.Drain, shares.Offline: &st.Queues.Offline, shares.Test: &st.Queues.Test}
	for _, q := range s.dispatcher.Queues() {
		if st.Waiting += q.Waiting; by[q.State] != nil {
			*by[q.State]++
		}
	}
	return st, nil
}

// liveJobs sums the leaves. A ready job is shown in the pool of every queue that can run it; it is counted once, in
// the pool that shows most.
func liveJobs(st dispatcher.Standing) (ready, held int64) {
	most := map[shares.ShareID]int64{}
	for _, p := range st.Pools {
		for _, n := range p.Shares {
			if n.Leaf {
				most[n.ID], held = max(most[n.ID], n.Ready), held+n.HeldJobs
			}
		}
	}
	for _, n := range most {
		ready += n
	}
	return ready, held
}
