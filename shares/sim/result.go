package sim

import (
	"math"
	"slices"
	"time"
)

// Result is what one simulation gave. Times are in seconds, amounts in slots (units) or slot-hours.
type Result struct {
	Rule     string   `json:"rule"`
	Slots    float64  `json:"slots" doc:"What may be held at once."`
	BeginS   float64  `json:"begin_s" doc:"The first arrival, from the beginning of the trace."`
	EndS     float64  `json:"end_s" doc:"The last end."`
	Jobs     int      `json:"jobs" doc:"All of the workload."`
	WaitingS float64  `json:"waiting_s" doc:"Time in which a job was ready. The indexes of Jain are means over it."`
	IdleSH   float64  `json:"idle_slot_hours" doc:"Slots that were free while a job was ready: kept for a wide one, or too few for any."`
	Overtook int      `json:"overtook" doc:"Jobs that started out of turn, while the one in turn did not fit and without delaying it."`
	Shares   []Share  `json:"shares" doc:"The root first, then the tree in the order of the file."`
	Fairness Fairness `json:"fairness"`
	EveryS   float64  `json:"every_s" doc:"Width of a point of delivered_over and target_over; the first begins at begin_s."`
}

// Share is how one node of the tree came off. The root's path is "".
type Share struct {
	Path      string    `json:"path"`
	Depth     int       `json:"depth"`
	Leaf      bool      `json:"leaf"`
	Weight    float64   `json:"weight"`
	Started   int       `json:"started" doc:"Jobs. All of them have ended."`
	Never     int       `json:"never" doc:"Jobs that are wider than the site or than a max above them."`
	Stuck     int       `json:"stuck" doc:"Jobs that limits of lending and borrowing kept back to the end, when all else was idle."`
	Delivered float64   `json:"delivered_slot_hours"`
	Target    float64   `json:"target_slot_hours" doc:"The solver's targets for the demand of each moment, over time."`
	Short     float64   `json:"short_slot_hours" doc:"Target − held, over the time in which that is positive."`
	Over      float64   `json:"over_slot_hours" doc:"Held − target, over the time in which that is positive."`
	Lag       float64   `json:"lag_slot_seconds" doc:"∫(target − held)dt over the whole time."`
	WorstLag  float64   `json:"worst_lag_slot_seconds" doc:"The largest that it ever was."`
	Wait      Waits     `json:"wait_s"`
	StarvedS  float64   `json:"starved_s" doc:"Longest time below target with a job ready and none started. Leaves only."`
	HeldOver  []float64 `json:"delivered_over" doc:"Slot-hours, point by point."`
	DueOver   []float64 `json:"target_over" doc:"Slot-hours, point by point."`
}

// Waits are percentiles of the time from arrival to start, by nearest rank; 0 without a job.
type Waits struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Fairness is the figures of sharing.md §7.
type Fairness struct {
	Levels    []Level `json:"levels"`
	OverSlots float64 `json:"worst_over_slots" doc:"Most that a choice of the rule took a node over its target, at the moment of the choice."`
	OverJobs  float64 `json:"worst_over_jobs" doc:"The same in job sizes: less than 1 is the promise."`
	Short     float64 `json:"short_slot_hours" doc:"Sum over the leaves."`
	WorstLag  float64 `json:"worst_lag_slot_seconds" doc:"Of the worst leaf."`
	StarvedS  float64 `json:"starved_s" doc:"Of the worst leaf."`
	Refused   int64   `json:"refused" doc:"The rule named nobody although somebody could have started: must be 0."`
}

// Level is Jain's index over the nodes of one depth: 1 when all have the same part of their target, 1/n when one of
// n has everything.
type Level struct {
	Depth int     `json:"depth"`
	Jain  float64 `json:"jain" doc:"Of held ÷ target over the nodes with a target; mean over the time in which a job was ready."`
}

// Result is what was measured until now. Jobs, Overtook, Never and Stuck are for whoever drives the engine to fill in.
func (e *Engine) Result() Result {
	out := Result{Rule: e.rule.Name(), Slots: e.capacity.Float(), BeginS: e.begin.Seconds(), EndS: e.now.Seconds(),
		WaitingS: e.waiting, IdleSH: e.idle / 3600, EveryS: e.series.every.Seconds()}
	f := &out.Fairness
	f.Refused = e.refused
	for i := range e.tree.Nodes {
		s := e.share(i)
		out.Shares = append(out.Shares, s)
		f.OverSlots = max(f.OverSlots, e.gauges[i].overSlots)
		f.OverJobs = max(f.OverJobs, e.gauges[i].overJobs)
		if s.Leaf {
			f.Short += s.Short
			f.WorstLag = max(f.WorstLag, s.WorstLag)
			f.StarvedS = max(f.StarvedS, s.StarvedS)
		}
	}
	for depth, j := range e.levels {
		if j.seconds > 0 {
			f.Levels = append(f.Levels, Level{Depth: depth, Jain: j.sum / j.seconds})
		}
	}
	return out
}

func (e *Engine) share(node int) Share {
	n, g := &e.tree.Nodes[node], &e.gauges[node]
	s := Share{Path: n.Path, Depth: n.Depth, Leaf: e.tree.Leaf(node), Weight: n.Plan.Weight, Started: len(g.waits),
		Delivered: g.held / 3600, Target: g.target / 3600, Short: g.short / 3600, Over: g.excess / 3600,
		Lag: g.target - g.held, WorstLag: g.worstLag, Wait: waitsOf(g.waits), StarvedS: g.starved}
	for _, p := range e.series.points {
		s.HeldOver = append(s.HeldOver, p[node].held/3600)
		s.DueOver = append(s.DueOver, p[node].target/3600)
	}
	return s
}

func waitsOf(waits []time.Duration) Waits {
	if len(waits) == 0 {
		return Waits{}
	}
	sorted := slices.Clone(waits)
	slices.Sort(sorted)
	at := func(q float64) float64 {
		return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)].Seconds()
	}
	return Waits{P50: at(0.5), P90: at(0.9), P99: at(0.99), Max: at(1)}
}
