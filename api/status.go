package api

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/shares"
)

// Status is how the site stands, seen from one daemon.
type Status struct {
	Build     string       `json:"build" doc:"Version of the daemon."`
	StartedAt time.Time    `json:"started_at"`
	Ready     bool         `json:"ready" doc:"As /readyz."`
	Reason    string       `json:"reason,omitempty" doc:"Why it is not ready."`
	Site      int64        `json:"site_version" doc:"0 = no site file was applied yet."`
	Pools     []PoolStatus `json:"pools"`
	Queues    QueueCount   `json:"queues"`
	ReadyJobs int64        `json:"ready_jobs"`
	HeldJobs  int64        `json:"held_jobs" doc:"Jobs that are leased."`
	Waiting   int          `json:"waiting_pulls" doc:"Pulls that wait at this daemon."`
}

// PoolStatus is a pool in one line.
type PoolStatus struct {
	Pool     string  `json:"pool"`
	Capacity float64 `json:"capacity" doc:"Units of the online queues; -1 = unlimited."`
	Held     float64 `json:"held"`
}

// QueueCount counts queues by state.
type QueueCount struct {
	Online  int `json:"online"`
	Drain   int `json:"drain"`
	Offline int `json:"offline"`
	Test    int `json:"test"`
}

func (s *server) statusRoutes() {
	route(s, huma.Operation{
		OperationID: "get-status", Method: http.MethodGet, Path: "/v1/status", Tags: []string{"daemon"}, Summary: "Show how the site stands",
	}, s.status)
	health := reflect.TypeFor[Health]()
	s.add(huma.Operation{
		OperationID: "get-health", Method: http.MethodGet, Path: "/healthz", Tags: []string{"daemon"}, Summary: "The process answers",
		Security: []map[string][]string{},
	}, nil, health)
	s.add(huma.Operation{
		OperationID: "get-ready", Method: http.MethodGet, Path: "/readyz", Tags: []string{"daemon"}, Summary: "The daemon can serve; 503 with the reason when not",
		Security: []map[string][]string{},
	}, nil, health)
}

func (s *server) status(ctx context.Context, _ *struct{}) (Status, error) {
	st := Status{Build: s.Build, StartedAt: s.began, Ready: true, Pools: []PoolStatus{}}
	if s.Ready != nil {
		if err := s.Ready(ctx); err != nil {
			st.Ready, st.Reason = false, err.Error()
		}
	}
	standing := s.dispatcher.Standing()
	st.Site = standing.Version
	for _, p := range standing.Pools {
		st.Pools = append(st.Pools, PoolStatus{Pool: p.Pool, Capacity: p.Capacity, Held: p.Held})
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

// liveJobs sums the leaves. A ready job belongs to the set of queues that can run it, so that it is shown in
// the pool of each of them; it is counted where it is shown most.
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
