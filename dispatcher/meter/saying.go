package meter

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/tally"
)

// saying says lines.
type saying struct {
	m  *Meter
	to chan<- prometheus.Metric
}

func (s saying) say(name string, v float64, labels ...string) {
	s.to <- prometheus.MustNewConstMetric(s.m.descs[name], values[s.m.all[name].kind], v, labels...)
}

func (s saying) histogram(name string, h tally.Histogram, labels ...string) {
	buckets, sum := map[float64]uint64{}, uint64(0)
	for i, bound := range s.m.all[name].bounds {
		if h.Counts != nil {
			sum += h.Counts[i]
		}
		buckets[bound] = sum
	}
	if n := len(h.Counts); n > 0 {
		sum += h.Counts[n-1]
	}
	s.to <- prometheus.MustNewConstHistogram(s.m.descs[name], sum, h.Sum, buckets, labels...)
}

func (s saying) counts(c *sums) {
	for outcome, n := range c.all {
		s.say("attempts_ended_total", float64(n), outcome)
	}
	for key, n := range c.queues {
		s.say("queue_attempts_ended_total", float64(n), key[0], key[1])
	}
	for key, n := range c.shares {
		s.say("share_attempts_ended_total", float64(n), key[0], key[1])
	}
	for j, n := range c.Judged {
		s.say("attempts_judged_total", float64(n), j.Rule, j.Verdict)
	}
	for reason, n := range c.Refused {
		s.say("pulls_refused_total", float64(n), reason)
	}
	for how, n := range c.Closed {
		s.say("reclaims_closed_total", float64(n), how)
	}
	s.say("shares_passed_unmade_total", float64(c.Passed))
	s.say("leases_expired_total", float64(c.Expired))
	s.say("reclaim_orders_total", float64(c.Ordered))
	s.say("reclaim_lost_unit_seconds_total", c.Lost)
	s.histogram("grant_seconds", c.Appends)
	s.histogram("grant_batch_jobs", c.Grants)
	s.histogram("report_batch_leases", c.Renewed, "renew")
	s.histogram("report_batch_leases", c.Ended, "end")
	s.histogram("decide_seconds", c.Decides)
	s.histogram("pull_wait_seconds", c.Pulls)
	s.histogram("lease_renew_age_seconds", c.Ages)
	for key, h := range c.waits {
		s.histogram("job_wait_seconds", h, key[0], key[1])
	}
}

// snapshot says how all stands.
func (s saying) snapshot(n *Snapshot) {
	s.say("site_version", float64(n.Site.Number))
	s.say("daemons", float64(n.Daemons))
	s.say("jobs", float64(n.Jobs.Ready), "ready")
	s.say("jobs", float64(n.Jobs.Held), "leased")
	s.say("jobs", float64(n.Jobs.ToCome), "to_come")
	s.say("stock_gaps", float64(n.Jobs.Gaps))
	for pool, f := range s.m.fairness {
		s.say("fairness_jain_index", f.jain, pool)
		s.say("fairness_largest_deviation_units", f.deviation, pool)
		s.say("shares_starving", float64(f.starving), pool)
		s.say("share_starvation_seconds", f.longest.Seconds(), pool)
	}
	if n.Lag != nil {
		s.say("fold_lag_batches", float64(n.Lag.Batches))
		s.say("fold_lag_seconds", n.Lag.Time.Seconds())
	}
	s.shares(n)
	s.queues(n)
	s.resources(n)
	if n.Locks != nil {
		for name, l := range byName(n.Locks) {
			s.say("lock_holders", float64(l.Held), name)
			s.say("lock_waiters", float64(l.Waiting), name)
			s.say("lock_wait_seconds", l.Longest, name)
		}
	}
	for of, left := range s.m.lines.leftOut {
		s.say("metric_lines_left_out", float64(left), of)
	}
}

// shares says how shares stand, and which of them have no lines.
func (s saying) shares(n *Snapshot) {
	shown := 0
	for i := range n.Pools {
		for j := range n.Pools[i].Shares {
			sh := &n.Pools[i].Shares[j]
			if !s.m.of.has(sh.Depth) {
				continue
			}
			if shown++; shown > mostShares {
				continue
			}
			s.say("share_target_units", sh.Target, sh.Pool, sh.Path)
			s.say("share_held_units", sh.Held, sh.Pool, sh.Path)
			s.say("share_ready_jobs", float64(sh.Ready), sh.Pool, sh.Path)
		}
	}
	for _, c := range n.Cells[:min(len(n.Cells), mostCells)] {
		s.say("share_queue_held_jobs", float64(c.Jobs), c.Share, c.Queue)
	}
	s.say("metric_lines_left_out", float64(max(0, shown-mostShares)), "shares")
	s.say("metric_lines_left_out", float64(max(0, len(n.Cells)-mostCells)), "share_queues")
	s.say("metric_lines_left_out", float64(max(0, len(n.Queues)-mostQueues)), "queues")
}

// queues says how queues stand.
func (s saying) queues(n *Snapshot) {
	for i := range n.Queues[:min(len(n.Queues), mostQueues)] {
		s.queue(&n.Queues[i], n.Gangs[n.Queues[i].Name])
	}
}

func (s saying) queue(q *explain.QueueStanding, gang Gang) {
	if q.Slots != nil {
		s.say("queue_slots", float64(*q.Slots), q.Name)
	}
	s.say("queue_held_cores", float64(q.HeldCores), q.Name)
	s.say("queue_held_jobs", float64(q.HeldJobs), q.Name)
	s.say("queue_ready_jobs", float64(q.Ready), q.Name)
	s.say("queue_pilots", float64(q.Pilots), q.Name)
	s.say("queue_waiting_pulls", float64(q.Waiting), q.Name)
	if q.Wanted != nil {
		s.say("queue_pilots_wanted", float64(q.Wanted.Wanted), q.Name)
		s.say("queue_pilots_alive", float64(q.Wanted.Alive), q.Name)
	}
	if q.BlackHole != nil {
		s.say("queue_black_hole", 1, q.Name)
	}
	if q.MaxIO > 0 {
		s.say("queue_io_max_bytes_per_second", float64(q.MaxIO)*1000, q.Name)
		s.say("queue_io_held_bytes_per_second", float64(q.HeldIO)*1000, q.Name)
	}
	s.say("gang_held_slots", float64(gang.Slots), q.Name)
	s.say("gang_held_cores", float64(gang.Cores), q.Name)
}

func (s saying) resources(n *Snapshot) {
	for name, r := range n.Resources {
		s.say("resource_capacity_units", float64(r.Capacity), name)
		s.say("resource_held_units", float64(r.Held), name)
		s.say("resource_wanted_units", float64(r.Wanted), name)
		s.say("resource_kept_units", float64(r.Kept), name)
	}
	for state, claims := range n.Claims {
		s.say("resource_claims", float64(claims), state)
	}
}
