package rules

import (
	"context"
	"embed"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/dispatcher/tally"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

type args = pgx.StrictNamedArgs

// exec runs a statement.
func exec(ctx context.Context, tx pgx.Tx, verb string, a pgx.QueryRewriter) error {
	if _, err := tx.Exec(ctx, query[verb], a); err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	return nil
}

// Config is what the rules need of the daemon.
type Config struct {
	Pool *pgxpool.Pool
	// View has look see the machine as it stands.
	View func(ctx context.Context, look func(machine.View)) error
	// Fold brings the tables up to what the machine has in the log by now.
	Fold func(ctx context.Context) error
	// Return ends leases that are still there as Returned, and says how many there were.
	Return func(ctx context.Context, leases []fold.Fence) (int, error)
	// Offered is what pilots offered lately and got no jobs for, by pool.
	Offered func() map[string]shares.Units
	// Count has what happened counted, for metrics.
	Count func(func(*tally.Tally))
	TTL   time.Duration // that a lease has at most from one renewal to the next
}

// Rules has the steps of one daemon. Their results count while it leads.
type Rules struct {
	cfg    Config
	site   atomic.Pointer[retry.Site] // as Learn saw it last; nil: it has not
	known  known
	ends   ends
	owed   owed
	forced map[fold.Fence]bool // leases that Reclaim has returned, whose orders are open
}

// New returns the rules of a database that has their tables.
func New(cfg Config) *Rules { return &Rules{cfg: cfg, forced: map[fold.Fence]bool{}} }

// Begin forgets what was counted and said: the daemon begins to lead.
func (r *Rules) Begin() {
	r.ends.do(func(c *retry.Counts) { *c = retry.Counts{} })
	r.owed.keep(nil, time.Time{})
}

// siteNow looks at the site in force.
func (r *Rules) siteNow(ctx context.Context) (retry.Site, error) {
	site := retry.Site{Now: time.Now()}
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

// purgeBatch is how many rows of a kind one Purge drops.
const purgeBatch = 5000
