package dispatcher

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/internal/pg"
)

// ShareMetrics is which shares have metrics of their own. Fairness of all of them together there is always.
type ShareMetrics string

// The values of ShareMetrics.
const (
	TopShares   ShareMetrics = ""       // the upper two levels of the tree
	NoShares    ShareMetrics = "none"   // none
	AllShares   ShareMetrics = "all"    // all, up to five thousand
	QueueShares ShareMetrics = "queues" // all, and what each holds at each queue, up to twenty thousand pairs
)

// has says whether a share has metrics of its own.
func (m ShareMetrics) has(s *ShareStanding) bool {
	switch m {
	case AllShares, QueueShares:
		return true
	case NoShares:
		return false
	}
	return s.Depth <= 2
}

// surveyMetrics show the last Survey.
type surveyMetrics struct {
	d   *Dispatcher
	all map[string]*prometheus.Desc
}

// surveyed are the metrics of a survey: name without divvy_, help, labels.
var surveyed = []struct {
	name, help string
	labels     []string
}{
	{"site_version", "Version of the site file that this daemon works by.", nil},
	{"daemons", "Open daemons on the database, this one among them, as far as it knows.", nil},
	{"jobs", "Live jobs: ready, leased, and to_come, which tasks have not made yet.", []string{"state"}},
	{"fairness_jain_index", "Jain's index of held/target over the leaves of a pool that want something: 1 is fair.", []string{"pool"}},
	{"fairness_largest_deviation_units", "Units that the leaf furthest from its target is off.", []string{"pool"}},
	{"shares_starving", "Leaves with ready jobs and a target of a unit or more that hold nothing, while others hold something; below a unit, to hold nothing at times is their part. Reports by the hour (report.fairness) count the same.", []string{"pool"}},
	{"share_starvation_seconds", "How long the one that has starved longest has done so.", []string{"pool"}},
	{"stock_gaps", "Pairs of a share and a queue where its jobs could run, are still to be made, and none is ready.", nil},
	{"share_target_units", "Target of a share.", []string{"pool", "share"}},
	{"share_held_units", "Units that a share holds.", []string{"pool", "share"}},
	{"share_ready_jobs", "Ready jobs at and below a share.", []string{"pool", "share"}},
	{"share_queue_held_jobs", "Jobs of a leaf that run at a queue; with share_metrics queues only.", []string{"share", "queue"}},
	{"queue_slots", "Cores that may run at once; queues without a bound have no line.", []string{"queue"}},
	{"queue_held_cores", "Cores of the jobs that run there.", []string{"queue"}},
	{"queue_held_jobs", "Jobs that run there.", []string{"queue"}},
	{"queue_ready_jobs", "Ready jobs that the queue could run.", []string{"queue"}},
	{"queue_pilots", "Pilots that pulled there at this daemon in the last five minutes.", []string{"queue"}},
	{"queue_waiting_pulls", "Pulls that wait for a job there at this daemon.", []string{"queue"}},
	{"metric_lines_left_out", "Shares, queues and pairs of them that have no line since there are too many.", []string{"of"}},
	{"lock_holders", "Sessions that hold an advisory lock, in the whole database; the eldest daemon looks.", []string{"lock"}},
	{"lock_waiters", "Sessions that wait for one.", []string{"lock"}},
	{"lock_wait_seconds", "How long the first of them has waited.", []string{"lock"}},
}

func newSurveyMetrics(d *Dispatcher) *surveyMetrics {
	m := &surveyMetrics{d: d, all: map[string]*prometheus.Desc{}}
	for _, s := range surveyed {
		m.all[s.name] = prometheus.NewDesc("divvy_"+s.name, s.help, s.labels, nil)
	}
	return m
}

// Describe is part of prometheus.Collector.
func (m *surveyMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range m.all {
		to <- desc
	}
}

// Collect is part of prometheus.Collector.
func (m *surveyMetrics) Collect(to chan<- prometheus.Metric) {
	s := m.d.survey.Load()
	if s == nil {
		return
	}
	say := func(name string, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(m.all[name], prometheus.GaugeValue, v, labels...)
	}
	say("site_version", float64(s.version))
	say("daemons", float64(s.daemons))
	say("jobs", float64(s.ready), "ready")
	say("jobs", float64(s.held), "leased")
	say("jobs", float64(s.toCome), "to_come")
	say("stock_gaps", float64(s.gaps))
	for pool, f := range s.fairness {
		say("fairness_jain_index", f.jain, pool)
		say("fairness_largest_deviation_units", f.deviation, pool)
		say("shares_starving", float64(f.starving), pool)
		say("share_starvation_seconds", f.longest.Seconds(), pool)
	}
	s.sayShares(say)
	s.sayQueues(say)
	for of, n := range s.leftOut {
		say("metric_lines_left_out", float64(n), of)
	}
	s.sayLocks(say)
}

type sayer func(name string, v float64, labels ...string)

func (s *survey) sayShares(say sayer) {
	for i := range s.shares {
		c := &s.shares[i]
		say("share_target_units", c.Target, c.Pool, c.Path)
		say("share_held_units", c.Held, c.Pool, c.Path)
		say("share_ready_jobs", float64(c.Ready), c.Pool, c.Path)
	}
	for _, c := range s.cells {
		say("share_queue_held_jobs", float64(c.jobs), c.share, c.queue)
	}
}

func (s *survey) sayQueues(say sayer) {
	for i := range s.queues {
		q := &s.queues[i]
		if q.Slots != nil {
			say("queue_slots", float64(*q.Slots), q.Name)
		}
		say("queue_held_cores", float64(q.HeldCores), q.Name)
		say("queue_held_jobs", float64(q.HeldJobs), q.Name)
		say("queue_ready_jobs", float64(q.Ready), q.Name)
		say("queue_pilots", float64(q.Pilots), q.Name)
		say("queue_waiting_pulls", float64(q.Waiting), q.Name)
	}
}

// sayLocks puts the locks of others together, which are not told apart. Ours have lines while nobody holds them too.
func (s *survey) sayLocks(say sayer) {
	if !s.looked {
		return
	}
	by := map[string]lockRow{}
	for _, name := range pg.LockNames() {
		by[name] = lockRow{}
	}
	for _, r := range s.locks {
		sum := by[r.name()]
		sum.Held, sum.Waiting, sum.Longest = sum.Held+r.Held, sum.Waiting+r.Waiting, max(sum.Longest, r.Longest)
		by[r.name()] = sum
	}
	for name, r := range by {
		say("lock_holders", float64(r.Held), name)
		say("lock_waiters", float64(r.Waiting), name)
		say("lock_wait_seconds", r.Longest, name)
	}
}
