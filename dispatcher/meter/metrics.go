package meter

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/dispatcher/tally"
)

// metric is what is exported under a name.
type metric struct {
	name   string // without divvy_
	kind   kind
	labels []string
	help   string
	bounds []float64 // of a histogram
}

// kind of a metric.
type kind byte

const (
	gauge kind = iota
	counter
	histogram
)

// values are the kinds of the client library; a histogram has none.
var values = map[kind]prometheus.ValueType{gauge: prometheus.GaugeValue, counter: prometheus.CounterValue}

func labels(names ...string) []string { return names }

// standings are the metrics of a Snapshot.
var standings = []metric{
	{"site_version", gauge, nil, "Version of the site file in force at this daemon.", nil},
	{"daemons", gauge, nil, "Open daemons on the database, including this one.", nil},
	{"jobs", gauge, labels("state"), "Live jobs: ready, leased, and to_come (not made yet).", nil},
	{"fairness_jain_index", gauge, labels("pool"), "Jain's index of held/target over the leaves of a pool with demand: 1 is fair.", nil},
	{"fairness_largest_deviation_units", gauge, labels("pool"), "Distance in units of the leaf that is furthest from its target.", nil},
	{"shares_starving", gauge, labels("pool"), "Leaves with ready jobs and a target of a unit or more that hold nothing, while others hold something; below a unit, to hold nothing at times is their part. Reports by the hour (report.fairness) count the same.", nil},
	{"share_starvation_seconds", gauge, labels("pool"), "How long the longest starving leaf has starved.", nil},
	{"stock_gaps", gauge, nil, "Pairs of a share and a queue with jobs to come and none ready.", nil},
	{"share_target_units", gauge, labels("pool", "share"), "Target of a share.", nil},
	{"share_held_units", gauge, labels("pool", "share"), "Units that a share holds.", nil},
	{"share_ready_jobs", gauge, labels("pool", "share"), "Ready jobs at and below a share.", nil},
	{"share_queue_held_jobs", gauge, labels("share", "queue"), "Jobs of a leaf that run at a queue; with share_metrics queues only.", nil},
	{"queue_slots", gauge, labels("queue"), "Cores that may run at once at a queue; queues without a bound have no series.", nil},
	{"queue_held_cores", gauge, labels("queue"), "Cores of the jobs that run at a queue.", nil},
	{"queue_held_jobs", gauge, labels("queue"), "Jobs that run at a queue.", nil},
	{"queue_ready_jobs", gauge, labels("queue"), "Ready jobs that the queue could run.", nil},
	{"queue_pilots", gauge, labels("queue"), "Pilots that pulled for a queue at this daemon in the last five minutes.", nil},
	{"queue_waiting_pulls", gauge, labels("queue"), "Pulls for a queue that wait at this daemon.", nil},
	{"queue_pilots_wanted", gauge, labels("queue"), "Pilots that the queue should have in total, as this daemon knows; queues without a provision have no series.", nil},
	{"queue_pilots_alive", gauge, labels("queue"), "Pilots that running jobs and waiting pulls of a queue with a provision make up.", nil},
	{"queue_black_hole", gauge, labels("queue"), "1 for a queue that fails nearly all jobs while the same kinds finish elsewhere; others have no series.", nil},
	{"queue_io_max_bytes_per_second", gauge, labels("queue"), "Input and output that a queue allows (max_io); queues without a bound have no series.", nil},
	{"queue_io_held_bytes_per_second", gauge, labels("queue"), "Input and output of the running jobs of a queue, by the io_intensity of their tasks.", nil},
	{"metric_lines_left_out", gauge, labels("of"), "Shares, queues and pairs of them without series, because there are too many.", nil},
	{"gang_held_slots", gauge, labels("queue"), "Pulls that are held for jobs that start together.", nil},
	{"gang_held_cores", gauge, labels("queue"), "Cores of the pulls that are held for jobs that start together.", nil},
	{"resource_claims", gauge, labels("state"), "Live resource claims, as this daemon knows them.", nil},
	{"resource_capacity_units", gauge, labels("resource"), "Units of a resource that may be held at once. All keys and queues of a resource together.", nil},
	{"resource_held_units", gauge, labels("resource"), "Units of a resource that jobs hold. All keys and queues of a resource together.", nil},
	{"resource_wanted_units", gauge, labels("resource"), "Units of a resource that ready jobs ask for, which a queue with pilots could run. All keys and queues of a resource together.", nil},
	{"resource_kept_units", gauge, labels("resource"), "Free units of a resource that are kept for an ID for a bounded time. All keys and queues of a resource together.", nil},
	{"lock_holders", gauge, labels("lock"), "Sessions that hold an advisory lock, in the whole database, as the leader sees it.", nil},
	{"lock_waiters", gauge, labels("lock"), "Sessions that wait for an advisory lock.", nil},
	{"lock_wait_seconds", gauge, labels("lock"), "Longest wait for an advisory lock.", nil},
	{"fold_lag_batches", gauge, nil, "Batches of the log that are not folded into tables yet.", nil},
	{"fold_lag_seconds", gauge, nil, "How far the tables, and so the reports, are behind the log.", nil},
}

// counts are the metrics of a Tally.
var counts = []metric{
	{"attempts_ended_total", counter, labels("outcome"), "Ended attempts by outcome: finished, failed, lost, cancelled or revoked.", nil},
	{"queue_attempts_ended_total", counter, labels("queue", "outcome"), "Attempts that ended at a queue, by their outcome; of up to 1,000 queues.", nil},
	{"share_attempts_ended_total", counter, labels("share", "outcome"), "Attempts that ended at and below a share, by their outcome; of shares that share_metrics says, up to 1,000.", nil},
	{"attempts_judged_total", counter, labels("rule", "verdict"), "Attempts that failed or were lost and were judged: by the rule that decided, if any, and what became of the job: again, later, failed or quarantined; and by the rule that is rehearsed and would have decided, as dry_run.", nil},
	{"pulls_refused_total", counter, labels("reason"), "Pulls that got no job: no_job when none was ready that the slot may run, else the hard limit that held units back, lend or borrow, what was in the way with a resource, gang_hold, or black_hole at a queue that fails everything.", nil},
	{"shares_passed_unmade_total", counter, nil, "Times that pulls passed a share that came first because its jobs were not made in time.", nil},
	{"leases_expired_total", counter, nil, "Leases that expired because their pilot was silent.", nil},
	{"reclaim_orders_total", counter, nil, "Running jobs that were ordered to give their units back.", nil},
	{"reclaims_closed_total", counter, labels("how"), "Closed reclaim orders: confirmed by the pilot, revoked without it, or the outcome that the attempt had before.", nil},
	{"reclaim_lost_unit_seconds_total", counter, nil, "Units times seconds that revoked attempts had held: the cost of reclaims.", nil},
	{"grant_seconds", histogram, nil, "Duration of an append to the log that grants jobs.", tally.AppendBounds},
	{"grant_batch_jobs", histogram, nil, "Jobs that one append to the log grants.", tally.GrantBounds},
	{"report_batch_leases", histogram, labels("verb"), "Leases that are renewed in one step of the leader, or end in one statement.", tally.TogetherBounds},
	{"decide_seconds", histogram, nil, "Time to decide a batch of pulls that got jobs, in memory.", tally.DecideBounds},
	{"pull_wait_seconds", histogram, nil, "Time from the arrival of a pull to its leases, commit and waiting for a job included. Pulls that got none are not in it.", tally.PullBounds},
	{"lease_renew_age_seconds", histogram, nil, "Age of the last renewal of a lease at the time at which it would have expired. Values near the TTL: pilots are about to lose leases.", tally.AgeBounds},
	{"job_wait_seconds", histogram, labels("pool", "share"), "Time from the submission of a job's task to its first lease; pieces that are tried again are not in it. Share is empty unless share_metrics is all or queues, and for shares beyond the first 500.", tally.WaitBounds},
}
