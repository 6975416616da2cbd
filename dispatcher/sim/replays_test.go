package sim

import (
	"context"
	"time"

	"github.com/divvyhq/divvy/dispatcher/replay"
	"github.com/divvyhq/divvy/shares"
	score "github.com/divvyhq/divvy/shares/replay"
)

// replay makes all decisions of the log again: each gives the same job, but for gangs, and where units were kept for others for a time.
func (w *world) replay() {
	r := replay.Reader{Log: w.tables.Log, Version: func(_ context.Context, n int64) (v shares.Version, err error) {
		return *w.sites[n-1], nil
	}}
	s, err := r.Score(context.Background(), time.Time{}, epoch.Add(w.now), nil, 3)
	left := s.Decisions - s.Compared
	for _, c := range s.NotComparable {
		if c.Reason == score.Gang || c.Reason == score.Kept && w.plan.ByUser {
			left -= c.Decisions
		}
	}
	if err != nil || s.Differences+s.Drifts+left > 0 {
		w.violate("decisions made again: %d of %d compared, %d differences, %d drifts, %v, first %+v, %v", s.Compared, s.Decisions, s.Differences, s.Drifts,
			s.NotComparable, s.First, err)
	}
}
