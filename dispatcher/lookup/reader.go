package lookup

import (
	"context"
	"embed"
	"sync"

	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Soft is what only the leader knows of a lease: what its pilot said last.
type Soft struct {
	State LeaseState // empty: not known
	Usage Usage
}

// Config is what a Reader needs.
type Config struct {
	DB   pg.Querier
	Site func() *shares.Version // in force; nil, or a nil site: no reason why a ready job does not run, no meaning of codes
	// Soft returns what is known of leases, of those that anything is known of; what it cannot find out it leaves out. nil: nothing is known.
	Soft func(ctx context.Context, leases []fold.Fence) map[fold.Fence]Soft
}

// Reader answers questions about jobs. It is safe for concurrent use.
type Reader struct {
	cfg Config

	mu    sync.Mutex
	needs map[int32]job.Requirements // by shape; a shape never changes
}

// New returns a reader of a database that has the tables.
func New(cfg Config) *Reader { return &Reader{cfg: cfg, needs: map[int32]job.Requirements{}} }

func (r *Reader) site() *shares.Version {
	if r.cfg.Site == nil {
		return nil
	}
	return r.cfg.Site()
}

// soft is what the leader knows of leases.
func (r *Reader) soft(ctx context.Context, leases []fold.Fence) map[fold.Fence]Soft {
	if r.cfg.Soft == nil || len(leases) == 0 {
		return nil
	}
	return r.cfg.Soft(ctx, leases)
}

// mostNeeds bounds what a Reader remembers of shapes.
const mostNeeds = 100_000

// needsOf returns the requirements of shapes, those that the log has.
func (r *Reader) needsOf(ctx context.Context, shapes []int32) (map[int32]job.Requirements, error) {
	known, missing := map[int32]job.Requirements{}, []int32{}
	r.mu.Lock()
	for _, s := range shapes {
		if need, ok := r.needs[s]; ok {
			known[s] = need
		} else {
			missing = append(missing, s)
		}
	}
	r.mu.Unlock()
	if len(missing) == 0 {
		return known, nil
	}
	type row struct {
		Shape int32
		Need  job.Requirements
	}
	rows, err := pg.Collect[row](ctx, r.cfg.DB, query["needs"], pg.Args{"shapes": missing})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.needs) > mostNeeds {
		clear(r.needs)
	}
	for _, n := range rows {
		known[n.Shape], r.needs[n.Shape] = n.Need, n.Need
	}
	return known, nil
}
