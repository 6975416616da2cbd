package dispatcher

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// siteNow is what follows from the site: its version, the epoch of the limits and the limits.
type siteNow struct {
	version shares.Version // with the plans that are in force
	plans   plans
	targets []targetRow // in force
	epoch   int64
	limits  map[limitKey]*limit
	base    [nLanes]int64 // up to where our own moves are counted in the limits
	own     []laneRow     // our rows after base
}

// loaded is all that a daemon knows when it joins.
type loaded struct {
	site     siteNow
	state    *state
	followed map[laneID]int64
	daemons  map[int64]Peer
	newest   int64
	turns    []turnRow // of resources
}

type counterRow struct {
	ShareID   shares.ShareID
	ShapeID   int32
	QueueID   shares.QueueID
	Ready     int64
	Held      int64
	HeldUnits shares.Units
}

type positionRow struct {
	DaemonID int64
	Lane     int
	Seq      int64
}

// load reads checkpoint, tail and positions from one snapshot, then the site.
func (d *Dispatcher) load(ctx context.Context, id int64) (*loaded, error) {
	l := &loaded{state: newState(), followed: map[laneID]int64{}, daemons: map[int64]Peer{}}
	opts := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	l.state.remembered = d.clock()
	err := pgx.BeginTxFunc(ctx, d.cfg.Pool, opts, func(tx pgx.Tx) error { return l.read(ctx, tx) })
	if err != nil {
		return nil, err
	}
	l.site, err = d.loadSite(ctx, id)
	return l, err
}

func (l *loaded) read(ctx context.Context, tx pgx.Tx) error {
	if err := l.state.loadShapes(ctx, tx); err != nil {
		return err
	}
	var err error
	if l.state.memory, err = readMemory(ctx, tx); err != nil {
		return err
	}
	positions, err := collect[positionRow](ctx, tx, "positions", nil)
	if err != nil {
		return err
	}
	for _, p := range positions {
		l.followed[laneID{p.DaemonID, p.Lane}] = p.Seq
	}
	open, err := collect[daemonRow](ctx, tx, "daemons", pgx.StrictNamedArgs{"after": int64(0)})
	if err != nil {
		return err
	}
	for _, r := range open {
		l.newest = max(l.newest, r.ID)
		if r.Open {
			l.daemons[r.ID] = r.peer()
		}
	}
	counters, err := collect[counterRow](ctx, tx, "counters", nil)
	if err != nil {
		return err
	}
	// The site is not known yet: held units are kept by key and booked when it is adopted.
	l.state.version = shares.Version{Tree: &shares.Tree{}}
	for _, c := range counters {
		l.state.count(c)
	}
	l.turns, err = l.state.readTurns(ctx, tx)
	return err
}

// count adds a counter, before a site is adopted.
func (s *state) count(c counterRow) {
	if sh := s.shapes[c.ShapeID]; sh != nil && !sh.need.Charges() {
		s.window(windowKey{c.ShareID, c.ShapeID}).ready += c.Ready
	}
	if c.Held != 0 || c.HeldUnits != 0 {
		s.hold(move{Share: c.ShareID, Shape: c.ShapeID, Queue: c.QueueID, N: int32(c.Held), Units: c.HeldUnits}, 1, false)
	}
}

type daemonRow struct {
	ID          int64
	Open        bool
	Address     string
	Secret      string
	PilotQueues []int32
}

func (r daemonRow) peer() Peer { return Peer{ID: r.ID, Address: r.Address, Secret: r.Secret} }

type shapeRow struct {
	ID        int32
	Cores     int
	MemoryMB  int64
	DiskMB    int64
	WalltimeS int64
	Labels    map[string]string
	Queues    []string
	Label     string
	Resources map[string]int64
	SharingID string
	Claims    *job.ClaimNeed
	Locations []string
	Locality  string
	UserName  string
	PlainID   int32
}

func (r shapeRow) need() job.Requirements {
	return job.Requirements{Cores: r.Cores, MemoryMB: r.MemoryMB, DiskMB: r.DiskMB, WalltimeS: r.WalltimeS, Labels: r.Labels, Queues: r.Queues,
		Label: r.Label, Resources: r.Resources, SharingID: r.SharingID, Claims: r.Claims, Locations: r.Locations, Locality: r.Locality, User: r.UserName}
}

// loadShapes adds the shapes that are not known yet. There are few: as many as kinds of jobs.
func (s *state) loadShapes(ctx context.Context, db querier) error {
	known := make([]int32, 0, len(s.shapes))
	for id := range s.shapes {
		known = append(known, id)
	}
	rows, err := collect[shapeRow](ctx, db, "shapes", pgx.StrictNamedArgs{"known": known})
	if err != nil {
		return err
	}
	for _, r := range rows {
		s.know(r.ID, r.need())
		s.shapes[r.ID].plain = r.PlainID
		s.diary.tape.knew(s.shapes[r.ID])
	}
	return nil
}

// knowShapes makes sure that the shapes of the moves are known before they are counted. Rarely one is not: a task
// of a new kind. The caller holds the lock meanwhile, so that no decision misses its jobs.
func (s *state) knowShapes(ctx context.Context, db querier, moves []move) error {
	for _, m := range moves {
		if s.shapes[m.Shape] == nil {
			return s.loadShapes(ctx, db)
		}
	}
	return nil
}

type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// collect runs a statement of this package and reads its rows by column name.
func collect[T any](ctx context.Context, db querier, verb string, args pgx.StrictNamedArgs) ([]T, error) {
	var list []any
	if args != nil {
		list = append(list, args)
	}
	rows, err := db.Query(ctx, query[verb], list...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	return got, nil
}

type limitNow struct {
	Kind, Ref, Pool string
	Cap, Free       shares.Units
	Granted         shares.Units
}

// loadSite reads the limits of the present epoch, and then the site: it is at least as new as they are. If it is
// newer, the epoch has moved on as well, and the next grant says so.
func (d *Dispatcher) loadSite(ctx context.Context, daemon int64) (siteNow, error) {
	n := siteNow{limits: map[limitKey]*limit{}}
	var rows []limitNow
	opts := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, d.cfg.Pool, opts, func(tx pgx.Tx) (err error) {
		e, err := readEpoch(ctx, tx)
		if err != nil {
			return err
		}
		n.epoch, n.plans.at = e.Epoch, e.PlansAt
		if n.targets, err = targetsAt(ctx, tx, e.PlansAt); err != nil {
			return err
		}
		args := pgx.StrictNamedArgs{"daemon": daemon}
		if rows, err = collect[limitNow](ctx, tx, "limits", args); err != nil {
			return err
		}
		bases, err := collect[positionRow](ctx, tx, "own_base", args)
		if err != nil {
			return err
		}
		for _, b := range bases {
			n.base[b.Lane] = b.Seq
		}
		n.own, err = collect[laneRow](ctx, tx, "own_rows", args)
		return err
	})
	if err != nil {
		return n, fmt.Errorf("site: %w", err)
	}
	for _, r := range rows {
		key := limitKey{r.Kind, r.Ref, r.Pool}
		n.limits[key] = &limit{key: key, cap: r.Cap, granted: r.Granted, debt: r.Free < 0}
	}
	if n.version, err = d.cfg.Load(ctx); err != nil {
		return n, fmt.Errorf("site: %w", err)
	}
	n.plans.next = nextChange(n.version.Tree, n.targets, n.plans.at)
	n.version.Tree = n.version.Tree.At(n.plans.at)
	return n, nil
}

// adopt takes over a site: pools, queues and limits are made anew, what this daemon has spent of its escrow is
// counted from its own ledger rows, and the grants in flight come on top. d.mu is held.
func (d *Dispatcher) adopt(n siteNow) {
	d.state.plans, d.state.targets = n.plans, n.targets
	d.attempts.Store(n.version.Attempts)
	d.state.adopt(n.version, n.epoch, n.limits)
	d.state.diary.tape.adopted(d.state)
	d.state.diary.noteVersion(d.state)
	d.metrics.jobWait.adopt(n.version)
	d.metrics.ends.adopt(n.version)
	d.base, d.outdated, d.inDebt, d.externalSeen = n.base, false, map[*limit]bool{}, time.Time{}
	for _, l := range n.limits {
		if l.debt {
			d.inDebt[l] = true
		}
	}
	for _, row := range n.own {
		if row.Seq > d.lanes[row.Lane].seq {
			continue // committed, but its worker has not counted it: it will, as own
		}
		for _, m := range row.unpack() {
			switch {
			case m.Before == isLeased && m.After != isLeased:
				d.state.spend(heldKey{m.Share, m.Shape, m.Queue}, -int64(m.N), -m.Units)
			case m.After == isLeased && m.Before != isLeased:
				d.state.spend(heldKey{m.Share, m.Shape, m.Queue}, int64(m.N), m.Units)
			}
		}
	}
	for _, g := range d.state.inflight {
		// A grant that had committed when the limits were computed is part of them already. One behind a batch in doubt was not sent yet.
		l := d.lanes[g.lane]
		if g.spent = n.base[g.lane] <= l.seq || l.doubt && !l.pending.has(g); g.spent {
			d.state.spend(heldKey{g.window.key.share, g.window.key.shape, g.queue.ID}, 1, g.units)
			for _, c := range g.charges() {
				d.state.spend(heldKey{c.Share, c.Shape, c.Queue}, 1, 0)
			}
		}
	}
	d.line.unblock(d, nil) // takes that were put off while the limits were outdated
	d.line.stir(func(*class) bool { return true })
	d.kick()
}
