package meter

import (
	"context"
	"embed"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
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

func (m ShareMetrics) has(depth int) bool {
	switch m {
	case AllShares, QueueShares:
		return true
	case NoShares:
		return false
	}
	return depth <= 2
}

// Snapshot is how all stands.
type Snapshot struct {
	Site   shares.Version
	At     time.Time
	Pools  []explain.PoolStanding
	Queues []explain.QueueStanding
	Cells  []Cell
	Jobs   Jobs

	// What a machine does not say.
	Daemons   int
	Lag       *fold.Lag           // nil: not known
	Locks     []Lock              // nil: not looked at
	Resources map[string]Resource // by name
	Claims    map[string]int64    // by state
	Gangs     map[string]Gang     // by queue
}

// Cell is what a share holds at a queue.
type Cell struct {
	Share, Queue string
	Jobs         int64
}

// Jobs are the live ones. Gaps are pairs of a leaf and a queue where jobs could run, are still to be made, and none is ready.
type Jobs struct{ Ready, Held, ToCome, Gaps int64 }

// Resource is how a resource stands: all keys and queues together.
type Resource struct{ Capacity, Held, Wanted, Kept int64 }

// Gang is what waits for jobs that start together.
type Gang struct{ Slots, Cores int64 }

// Look takes from a moment what metrics show.
func Look(m explain.Moment, of ShareMetrics) Snapshot {
	s := Snapshot{Site: m.View.Site, At: m.At, Pools: m.Standing().Pools, Queues: m.Queues(), Jobs: jobsOf(m.View)}
	for i := range s.Queues {
		s.Jobs.Held += s.Queues[i].HeldJobs
	}
	if of == QueueShares {
		s.Cells = cellsOf(m.View)
	}
	return s
}

// cellsOf counts the jobs of leaves by queue. What claims hold is no job.
func cellsOf(v machine.View) (cells []Cell) {
	names, at := map[shares.QueueID]string{}, map[Cell]int64{}
	for _, q := range v.Site.Queues {
		names[q.ID] = q.Name
	}
	for h := range v.Held() {
		node, ok := v.Site.Tree.ByID(h.Share)
		need, _ := v.Shape(h.Shape)
		if name := names[h.Queue]; ok && name != "" && h.Jobs > 0 && !need.Charges() {
			at[Cell{Share: v.Site.Tree.Nodes[node].Path, Queue: name}] += h.Jobs
		}
	}
	for c, n := range at {
		cells = append(cells, Cell{c.Share, c.Queue, n})
	}
	return cells
}

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Lock is who has and who waits for advisory locks of a class.
type Lock struct {
	Class   int64
	Held    int64
	Waiting int64
	Longest float64 `db:"longest_s"` // seconds that the first has waited
}

// Locks looks at the advisory locks of the database. They are the same for all daemons: one looks.
func Locks(ctx context.Context, db *pgxpool.Pool) ([]Lock, error) {
	locks, err := pg.Collect[Lock](ctx, db, query["lock_waits"])
	return locks, pg.Named("locks", err)
}

// byName sums the locks of other programs. divvy's own locks always have a line.
func byName(locks []Lock) map[string]Lock {
	by := map[string]Lock{}
	for _, name := range pg.LockNames() {
		by[name] = Lock{}
	}
	for _, l := range locks {
		name := pg.LockName(int32(l.Class))
		sum := by[name]
		by[name] = Lock{Held: sum.Held + l.Held, Waiting: sum.Waiting + l.Waiting, Longest: max(sum.Longest, l.Longest)}
	}
	return by
}
