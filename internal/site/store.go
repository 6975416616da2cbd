package site

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site/file"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/tagging"
)

//go:embed sql/*.sql
var files embed.FS

var q = pg.MustLoad(files)

// Errors that callers tell apart. A file that is wrong is Problems, a change that live work forbids *Refused.
var (
	ErrNoVersion       = errors.New("no such site version")
	ErrUnknownQueue    = errors.New("unknown queue")
	ErrQueueState      = errors.New("not a queue state")
	ErrUnknownResource = errors.New("unknown resource")
	ErrCapacity        = errors.New("not a capacity of this resource")
	ErrUnreadable      = errors.New("a stored site version is not readable by this program")
)

// Live is the work that a share has now: tasks that are not over, and their jobs.
type Live struct {
	Tasks   int64 `json:"tasks" doc:"Tasks that are not over."`
	Waiting int64 `json:"waiting" doc:"Waiting jobs."`
	Ready   int64 `json:"ready" doc:"Ready jobs."`
	Leased  int64 `json:"leased" doc:"Leased jobs, and claims that hold units of resources."`
	Pieces  int64 `json:"-"` // that are to become jobs; told in words only
}

// Any says whether there is any work.
func (l Live) Any() bool { return l.Tasks > 0 || l.Waiting > 0 || l.Ready > 0 || l.Leased > 0 }

// Demand is the live side of one pool: what the solver needs beside tree and queues.
type Demand struct {
	Held    map[shares.ShareID]shares.Units // by leaf
	Want    map[shares.ShareID]shares.Units // by leaf: what it could use beyond what it holds
	Offered shares.Units                    // units offered and unfilled of late
	Ends    map[shares.ShareID]shares.Ends  // by leaf: how its jobs ended of late
}

// Hooks tie the site to the packages above it, which it does not know. Nil ones are left out, as in tests.
type Hooks struct {
	// Barrier holds grants back until the transaction ends, and has those in flight committed.
	Barrier func(ctx context.Context, tx pgx.Tx) error
	// Live counts the work of each share that has any.
	Live func(ctx context.Context, tx pgx.Tx) (map[shares.ShareID]Live, error)
	// Move gives all live work of one share to another.
	Move func(ctx context.Context, tx pgx.Tx, from, to shares.ShareID) error
	// Ahead is Move to a leaf that is in force, ahead of the change: a bounded part of the work, in transactions of its own. It
	// says whether there is more.
	Ahead func(ctx context.Context, from, to shares.ShareID) (left bool, err error)
	// Applied is the last thing in the transaction of every change.
	Applied func(ctx context.Context, tx pgx.Tx, v shares.Version) error
	// Standing is the live demand by pool and how jobs end, for the targets that a dry run shows.
	Standing func(ctx context.Context) (map[string]Demand, error)
}

// Config is what a Store works with.
type Config struct {
	Pool    *pgxpool.Pool
	Hooks   Hooks
	Log     *slog.Logger          // nil: none
	Metrics prometheus.Registerer // nil: none
}

// Store keeps the versions of the site. It is safe for concurrent use, on any number of daemons.
type Store struct {
	db    *pgxpool.Pool
	hooks Hooks
	log   *slog.Logger
	due   *prometheus.CounterVec
	last  newest
}

// NewStore makes a store on a migrated database.
func NewStore(c Config) *Store {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Store{db: c.Pool, hooks: c.Hooks, log: c.Log, due: promauto.With(c.Metrics).NewCounterVec(prometheus.CounterOpts{
		Name: "divvy_site_later_total", Help: "Site files applied later by this daemon, by outcome."}, []string{"outcome"})}
}

// newest is the newest version that a store has parsed.
type newest struct{ atomic.Pointer[Site] }

// keep remembers a version if it is newer.
func (n *newest) keep(site *Site) {
	for {
		last := n.Load()
		if last != nil && last.Number >= site.Number || n.CompareAndSwap(last, site) {
			return
		}
	}
}

// Load returns the version in force with its ids and the present states of its queues: one statement, and the
// file is parsed only when it changed. Before the first Apply it is an empty site with number 0.
func (s *Store) Load(ctx context.Context) (*Site, error) {
	site, err := s.load(ctx, s.db, inForce)
	if err != nil {
		return nil, err
	}
	return site, nil
}

// At is Load of a version by its number, for those who need tree and queues only. States of queues and capacities are the present ones of what
// it has by that name; version 0 has nothing. Unknown: ErrNoVersion.
func (s *Store) At(ctx context.Context, number int64) (shares.Version, error) {
	site, err := s.load(ctx, s.db, number)
	if err != nil {
		return shares.Version{}, err
	}
	if site.Number != number {
		return shares.Version{}, fmt.Errorf("%w: %d", ErrNoVersion, number)
	}
	return site.Version(), nil
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

type versionRow struct {
	Head
	Source      string
	ShareIDs    map[string]shares.ShareID `db:"share_ids"`
	QueueIDs    map[string]shares.QueueID `db:"queue_ids"`
	QueueStates map[string]shares.QueueState
	Capacities  []capacityRow
}

// inForce is above the number of any version.
const inForce = math.MaxInt64

// load is Load of the newest version up to one. What cannot be read is an empty site with its number, beside ErrUnreadable.
func (s *Store) load(ctx context.Context, db querier, upto int64) (*Site, error) {
	known := s.last.Load()
	if known == nil {
		known = &Site{}
	}
	row, err := one[versionRow](ctx, db, "newest_version", pgx.StrictNamedArgs{"known": known.Number, "upto": upto})
	if errors.Is(err, pgx.ErrNoRows) {
		return emptySite(), nil
	}
	if err != nil {
		return nil, fmt.Errorf("site: load: %w", err)
	}
	if row.Version != known.Number {
		known, err = row.site()
		if err != nil {
			empty := emptySite()
			empty.Number = row.Version
			return empty, err
		}
		s.last.keep(known)
	}
	site := *known
	site.Queues = slices.Clone(known.Queues)
	for i := range site.Queues {
		if state, ok := row.QueueStates[site.Queues[i].Name]; ok {
			site.Queues[i].State = state
		}
	}
	site.setLive(row.Capacities)
	return &site, nil
}

// emptySite is what is in force before the first Apply.
func emptySite() *Site {
	tree, err := shares.Build(nil)
	if err != nil {
		panic(fmt.Sprintf("site: the empty tree: %v", err))
	}
	return &Site{Content: file.Content{Tree: tree, OnNoMatch: file.Reject, Tags: &tagging.Table{}}}
}

// site rebuilds a version from its source and its ids.
func (r versionRow) site() (*Site, error) {
	site, err := r.parse()
	if err != nil {
		// Not as Problems: they are not those of the caller's file.
		return nil, fmt.Errorf("%w: version %d: %v", ErrUnreadable, r.Version, err)
	}
	return site, nil
}

// parse is site with Problems of version-N.yml as they are, for who asks to have this very file in force.
func (r versionRow) parse() (*Site, error) {
	site, err := Parse(fmt.Sprintf("version-%d.yml", r.Version), []byte(r.Source))
	if err != nil {
		return nil, err
	}
	site.Number, site.AppliedAt, site.AppliedBy = r.Version, r.AppliedAt, r.AppliedBy
	site.Note, site.RollbackOf = r.Note, r.RollbackOf
	site.setIDs(r.ShareIDs, r.QueueIDs)
	return site, nil
}

func (s *Site) setIDs(byPath map[string]shares.ShareID, byName map[string]shares.QueueID) {
	s.Tree.SetIDs(func(path string) shares.ShareID { return byPath[path] })
	for i := range s.Queues {
		s.Queues[i].ID = byName[s.Queues[i].Name]
	}
}

// ids is the reverse of setIDs.
func (s *Site) ids() (byPath map[string]shares.ShareID, byName map[string]shares.QueueID) {
	byPath, byName = map[string]shares.ShareID{}, map[string]shares.QueueID{}
	for _, n := range s.Tree.Nodes[1:] {
		byPath[n.Path] = n.ID
	}
	for _, q := range s.Queues {
		byName[q.Name] = q.ID
	}
	return byPath, byName
}

// SetQueueState makes a queue drain, go on or offline, or take test jobs only, at once and in every daemon.
// The state is kept when the site file is applied again.
func (s *Store) SetQueueState(ctx context.Context, name string, state shares.QueueState) error {
	switch state {
	case shares.Online, shares.Drain, shares.Offline, shares.Test:
	default:
		return fmt.Errorf("%w: %q", ErrQueueState, state)
	}
	return pg.InTx(ctx, s.db, func(tx pgx.Tx) error {
		if err := pg.Lock(ctx, tx, pg.LockSite, 0); err != nil {
			return err
		}
		site, err := s.load(ctx, tx, inForce)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(site.Queues, func(q shares.Queue) bool { return q.Name == name })
		if i < 0 {
			return fmt.Errorf("%w: %q", ErrUnknownQueue, name)
		}
		if site.Queues[i].State == state {
			return pg.Secure(ctx, tx)
		}
		if err := s.hooks.barrier(ctx, tx); err != nil {
			return err
		}
		record := access.Change{What: "queue.state", Object: name, Before: string(site.Queues[i].State), After: string(state)}
		site.Queues[i].State = state
		n, err := exec(ctx, tx, "set_queue_state", pgx.StrictNamedArgs{"id": site.Queues[i].ID, "state": string(state)})
		if err != nil || n != 1 {
			return fmt.Errorf("site: state of queue %q: %d rows: %w", name, n, err)
		}
		if err := access.Record(ctx, tx, record); err != nil {
			return err
		}
		return s.applied(ctx, tx, site)
	})
}

func (h *Hooks) barrier(ctx context.Context, tx pgx.Tx) error {
	if h.Barrier == nil {
		return nil
	}
	return h.Barrier(ctx, tx)
}

// applied ends every change: the hook, and the hint to the daemons.
func (s *Store) applied(ctx context.Context, tx pgx.Tx, site *Site) error {
	if s.hooks.Applied != nil {
		if err := s.hooks.Applied(ctx, tx, site.Version()); err != nil {
			return err
		}
	}
	_, err := exec(ctx, tx, "notify", pgx.StrictNamedArgs{})
	return err
}

func exec(ctx context.Context, tx pgx.Tx, name string, args pgx.StrictNamedArgs) (int64, error) {
	tag, err := tx.Exec(ctx, q[name], args)
	if err != nil {
		return 0, fmt.Errorf("site: %s: %w", name, err)
	}
	return tag.RowsAffected(), nil
}

func many[T any](ctx context.Context, db querier, name string, args pgx.StrictNamedArgs) ([]T, error) {
	all, err := pg.Collect[T](ctx, db, q[name], args)
	return all, pg.Named("site", err)
}

func one[T any](ctx context.Context, db querier, name string, args pgx.StrictNamedArgs) (T, error) {
	all, err := many[T](ctx, db, name, args)
	if err != nil || len(all) == 0 {
		return *new(T), cmp.Or(err, pgx.ErrNoRows)
	}
	return all[0], nil
}

// Admits is that of the newest version that this daemon knows, without a word to the database: the daemon learns of
// versions when it hears of them, like for everything else that a pull goes by.
func (s *Store) Admits(queue string, p file.Pilot) bool {
	known := s.last.Load()
	return known == nil || known.Admits(queue, p)
}
