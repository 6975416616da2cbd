package dispatcher

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/divvyhq/divvy/shares/retry"
)

// metrics of a dispatcher. Labels have few values each.
type metrics struct {
	leasing   prometheus.Histogram
	batch     prometheus.Histogram
	contended prometheus.Counter
	conflicts prometheus.Counter
	passed    prometheus.Counter
	outdated  prometheus.Counter
	ends      *endMetrics
	refusals  *refused
	unwritten prometheus.Counter
	reclaim   *reclaimMetrics
	judgedN   *prometheus.CounterVec
	holes     *prometheus.GaugeVec
	deciding  prometheus.Histogram
	pullWait  prometheus.Histogram
	jobWait   *jobWaits
	renewed   prometheus.Observer
	ended     prometheus.Observer
	renewAge  prometheus.Histogram
	expired   prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, of ShareMetrics) *metrics {
	f := promauto.With(reg)
	together := f.NewHistogramVec(prometheus.HistogramOpts{Name: "divvy_report_batch_leases",
		Help: "Leases in one statement that renews them, or ends them.", Buckets: prometheus.ExponentialBuckets(1, 4, 6)}, []string{"verb"})
	return &metrics{
		renewed: together.WithLabelValues("renew"), ended: together.WithLabelValues("end"),
		leasing: f.NewHistogram(prometheus.HistogramOpts{Name: "divvy_grant_seconds",
			Help: "Duration of the statement that leases a batch of jobs.", Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14)}),
		batch: f.NewHistogram(prometheus.HistogramOpts{Name: "divvy_grant_batch_jobs",
			Help: "Jobs in one statement that leases.", Buckets: prometheus.ExponentialBuckets(1, 2, 10)}),
		contended: f.NewCounter(prometheus.CounterOpts{Name: "divvy_grant_batches_contended_total",
			Help: "Batches of grants with which somebody else interfered, so that they took a second statement."}),
		passed: f.NewCounter(prometheus.CounterOpts{Name: "divvy_shares_passed_unmade_total",
			Help: "Times that pulls no longer waited for a share which came first since its jobs were not made in time."}),
		conflicts: f.NewCounter(prometheus.CounterOpts{Name: "divvy_grant_conflicts_total",
			Help: "Jobs that another daemon had leased before."}),
		outdated: f.NewCounter(prometheus.CounterOpts{Name: "divvy_grant_outdated_total",
			Help: "Grants that were decided under limits which had changed."}),
		ends:     newEndMetrics(f, of),
		refusals: newRefused(f),
		unwritten: f.NewCounter(prometheus.CounterOpts{Name: "divvy_decision_records_dropped_total",
			Help: "Records of decisions that were not written: the database was away for too long."}),
		reclaim: newReclaimMetrics(reg),
		jobWait: newJobWaits(reg, of),
		judgedN: f.NewCounterVec(prometheus.CounterOpts{Name: "divvy_attempts_judged_total",
			Help: "Attempts that failed or were lost and were judged: by the rule that decided, if any, and what became of the job: again, later, failed or quarantined; and by the rule that is rehearsed and would have decided, as dry_run."},
			[]string{"rule", "verdict"}),
		holes: f.NewGaugeVec(prometheus.GaugeOpts{Name: "divvy_queue_black_hole",
			Help: "1 for a queue that fails nearly all that it gets, while the same kinds of jobs finish elsewhere; others have no line."}, []string{"queue"}),
		deciding: f.NewHistogram(prometheus.HistogramOpts{Name: "divvy_decide_seconds",
			Help: "Time to decide a batch of pulls that got jobs, in memory and under the lock.", Buckets: prometheus.ExponentialBuckets(0.00005, 4, 8)}),
		pullWait: f.NewHistogram(prometheus.HistogramOpts{Name: "divvy_pull_wait_seconds",
			Help:    "Time from the arrival of a pull to its leases, commit and waiting for a job included. Pulls that got none are not in it.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30, 300}}),
		renewAge: f.NewHistogram(prometheus.HistogramOpts{Name: "divvy_lease_renew_age_seconds",
			Help:    "Time since a lease was renewed or granted, looked at each time that it would have run out without: nearly all are far below the TTL, or pilots are about to lose theirs.",
			Buckets: []float64{1, 5, 15, 30, 45, 60, 90, 120, 180, 240, 600}}),
		expired: f.NewCounter(prometheus.CounterOpts{Name: "divvy_leases_expired_total",
			Help: "Leases that ran out since their pilot was not heard of."}),
	}
}

var stateNames = map[string]string{isWaiting: "waiting", isReady: "ready", isFinished: "finished", isFailed: "failed", isCancelled: "cancelled"}

// refused counts pulls that got no job, by their reasons: each series is looked for once. Guarded by Dispatcher.mu.
type refused struct {
	vec *prometheus.CounterVec
	of  map[string]prometheus.Counter
}

func newRefused(f promauto.Factory) *refused {
	r := &refused{of: map[string]prometheus.Counter{}, vec: f.NewCounterVec(prometheus.CounterOpts{Name: "divvy_pulls_refused_total",
		Help: "Pulls that got no job: no_job when none was ready that the slot may run, else the hard limit that held units back, lend or borrow, what was in the way with a resource, gang_hold, or black_hole at a queue that fails everything."},
		[]string{"reason"})}
	r.by("no_job") // from 0 on
	return r
}

// by finds or makes the counter of a reason.
func (r *refused) by(reason string) prometheus.Counter {
	c := r.of[reason]
	if c == nil {
		c = r.vec.WithLabelValues(reason)
		r.of[reason] = c
	}
	return c
}

// judged counts what a judgement said.
func (m *metrics) judged(j retry.Judgement) {
	verdict := "again"
	switch {
	case j.Quarantine:
		verdict = "quarantined"
	case j.Over:
		verdict = "failed"
	case j.Backoff > 0:
		verdict = "later"
	}
	m.judgedN.WithLabelValues(j.Rule, verdict).Inc()
	for _, rule := range j.Rehearsed {
		m.judgedN.WithLabelValues(rule, "dry_run").Inc()
	}
}
