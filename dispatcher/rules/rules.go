package rules

import (
	"context"
	"embed"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/dispatcher/tally"
	"github.com/divvyhq/divvy/shares"
	policy "github.com/divvyhq/divvy/shares/retry"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = load()

// Config is what the rules need of the daemon.
type Config struct {
	Pool *pgxpool.Pool
	// View has look see the machine as it stands.
	View func(ctx context.Context, look func(machine.View)) error
	// Fold brings the tables up to what the machine has in the log by now.
	Fold func(ctx context.Context) error
	// Return ends leases that are still there as Returned, and says how many there were.
	Return func(ctx context.Context, leases []fold.Fence) (int, error)
	// Offered is what pilots offered lately and got no jobs for, by pool; nil: nothing.
	Offered func() map[string]shares.Units
	// Judged hears every judgement; nil: nobody does.
	Judged func(policy.Judgement)
	// Count has what happened counted, for metrics; nil: nobody counts.
	Count func(func(*tally.Tally))
	TTL   time.Duration    // that a lease has at most from one renewal to the next
	Now   func() time.Time // for rules that expire; nil: time.Now
}

// Rules has the steps of one daemon. Their results count while it leads.
type Rules struct {
	cfg    Config
	site   atomic.Pointer[retry.Site] // as Learn saw it last; nil: it has not
	blocks blocks
	past   past
	ends   ends
	owed   owed
	forced map[fold.Fence]bool // leases that Reclaim has returned, whose orders are open
}

// New returns the rules of a database that has their tables.
func New(cfg Config) *Rules {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Judged == nil {
		cfg.Judged = func(policy.Judgement) {}
	}
	if cfg.Count == nil {
		cfg.Count = func(func(*tally.Tally)) {}
	}
	if cfg.Offered == nil {
		cfg.Offered = func() map[string]shares.Units { return nil }
	}
	return &Rules{cfg: cfg, forced: map[fold.Fence]bool{}}
}

// Begin forgets what was counted and said: the daemon begins to lead.
func (r *Rules) Begin() {
	r.ends.begin()
	r.owed.begin()
}

// Learn takes over the site in force, and reads the blocks and the past attempts of jobs that Decide has to know. It returns how many blocks
// it read.
func (r *Rules) Learn(ctx context.Context) (n int, err error) {
	if _, err := r.siteNow(ctx); err != nil {
		return 0, fmt.Errorf("learn: %w", err)
	}
	if err := r.learnPast(ctx); err != nil {
		return 0, fmt.Errorf("learn: %w", err)
	}
	jobs := r.blocks.unknown(learnBatch)
	if len(jobs) == 0 {
		return 0, nil
	}
	rows, err := collect[jobFacts](ctx, r.cfg.Pool, "facts", args{"jobs": jobs})
	if err != nil {
		return 0, fmt.Errorf("learn: %w", err)
	}
	for _, f := range rows {
		n += r.blocks.add(block{f.Low, f.High, f.MaxAttempts, f.Terms != nil})
	}
	return n, nil
}

// siteNow looks at the site in force.
func (r *Rules) siteNow(ctx context.Context) (retry.Site, error) {
	site := retry.Site{Now: r.cfg.Now()}
	err := r.cfg.View(ctx, func(v machine.View) { site.Policy, site.Queues = v.Site.Attempts, v.Site.Queues })
	if err == nil {
		r.site.Store(&site)
	}
	return site, err
}

// keepNotes is for how long judgements and closed reclaims are kept.
const keepNotes = 7 * 24 * time.Hour

// Purge drops some of what is old, and returns how many rows. Do it again while it does something.
func (r *Rules) Purge(ctx context.Context) (n int, err error) {
	for _, verb := range []string{"purge_judgements", "purge_reclaims"} {
		tag, err := r.cfg.Pool.Exec(ctx, query[verb], args{"older_s": keepNotes.Seconds(), "n": purgeBatch})
		if err != nil {
			return n, fmt.Errorf("%s: %w", verb, err)
		}
		n += int(tag.RowsAffected())
	}
	return n, nil
}

// Bounds of a step.
const (
	learnBatch = 1000
	purgeBatch = 5000
)
