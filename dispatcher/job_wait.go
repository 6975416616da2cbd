package dispatcher

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/divvyhq/divvy/shares"
)

// mostWaitShares bounds the shares with a histogram of their own, which is some fifteen lines of /metrics.
const mostWaitShares = 500

// jobWaits count how long jobs waited from the submission of their task to their first lease, by pool, and by share too where all
// shares are asked for (AllShares, QueueShares). Generators make jobs when there is room for them: the time until then is part of
// what users wait. A piece that is tried again, by its job or by another, has had its first lease: it is not counted.
// Guarded by Dispatcher.mu.
type jobWaits struct {
	seconds *prometheus.HistogramVec
	shares  ShareMetrics
	version int64
	named   map[shares.ShareID]string // shares with a line of their own
	leftOut int                       // shares without one, although they were asked for
	of      map[waitOf]prometheus.Observer
}

type waitOf struct {
	pool  string
	share shares.ShareID // 0: those without a line of their own
}

func newJobWaits(reg prometheus.Registerer, of ShareMetrics) *jobWaits {
	return &jobWaits{shares: of, of: map[waitOf]prometheus.Observer{},
		seconds: promauto.With(reg).NewHistogramVec(prometheus.HistogramOpts{Name: "divvy_job_wait_seconds",
			Help:    "Time from the submission of a job's task to its first lease; pieces that are tried again are not in it. Share is empty unless share_metrics is all or queues, and for shares beyond the first 500.",
			Buckets: []float64{.1, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 3 * 24 * 3600, 7 * 24 * 3600}}, []string{"pool", "share"})}
}

// adopt finds out which shares have lines, and forgets those of shares that are there no more.
func (w *jobWaits) adopt(v shares.Version) {
	if w.shares != AllShares && w.shares != QueueShares || v.Number == w.version {
		return
	}
	former := w.named
	w.version, w.named, w.leftOut = v.Number, map[shares.ShareID]string{}, 0
	for i, n := range v.Tree.Nodes {
		switch {
		case i == 0 || !v.Tree.Leaf(i):
		case len(w.named) < mostWaitShares:
			w.named[n.ID] = n.Path
		default:
			w.leftOut++
		}
	}
	for key := range w.of {
		if path := former[key.share]; w.named[key.share] != path {
			w.seconds.DeleteLabelValues(key.pool, path)
		}
	}
	clear(w.of)
}

// leased counts a job that got its lease; of is the payload of its task, if that is in memory still.
func (w *jobWaits) leased(g *grant, of *recipe, now time.Time) {
	if g.job.attempt != 1 || g.job.made == 0 {
		return
	}
	since := g.job.made
	if of != nil && of.submitted != 0 {
		since = min(since, of.submitted)
	}
	key := waitOf{pool: g.queue.Pool}
	if _, has := w.named[g.window.key.share]; has {
		key.share = g.window.key.share
	}
	seconds := w.of[key]
	if seconds == nil {
		seconds = w.seconds.WithLabelValues(key.pool, w.named[key.share])
		w.of[key] = seconds
	}
	seconds.Observe(max(0, float64(now.UnixMilli()-since)/1000)) // clocks of hosts differ
}

// waitsLeftOut is how many shares have no histogram of their own although they should.
func (d *Dispatcher) waitsLeftOut() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.metrics.jobWait.leftOut
}
