package dispatcher

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/replay"
	"github.com/divvyhq/divvy/dispatcher/series"
	"github.com/divvyhq/divvy/dispatcher/upkeep"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// Step is background work: each may be repeated at any time and may run on several daemons at once. Run does a bounded amount of it and returns
// how much that was.
type Step struct {
	Name  string
	Every time.Duration
	Run   func(ctx context.Context) (n int, err error)
}

// Steps lists all background work of the daemon beside Run and Links. Who has the tickers runs them, one run of a step after the other.
func (d *Dispatcher) Steps() []Step { return d.steps }

// background has the steps.
type background struct{ *Dispatcher }

func (b background) list() ([]Step, error) {
	sampler := &series.Sampler{DB: b.cfg.Pool, Leads: b.eye.leads, Standing: b.standing}
	list := []Step{
		{"fold", foldEvery, b.fold},
		{"reports", time.Second, b.report},
		{"lag", time.Second, b.lag},
		{"count", time.Second, b.count},
		{"survey", 5 * time.Second, b.survey},
		{"checkpoint", time.Minute, b.checkpoint},
		{"learn", 200 * time.Millisecond, b.rules.Learn},
		{"judge", 500 * time.Millisecond, b.when(waits, b.judge)},
		{"reclaim", time.Second, b.when(reclaims, b.rules.Reclaim)},
		{"queues", 5 * time.Second, b.leading(b.rules.WatchQueues)},
		{"old notes", time.Minute, b.rules.Purge},
		{"reorder", 5 * time.Second, b.reorder},
		{"sample", cmp.Or(b.cfg.Sample, 10*time.Second), sampler.Sample},
		{"rate", time.Minute, sampler.Rate},
		{"waits", 10 * time.Second, sampler.Wait},
	}
	room, err := upkeep.Steps(b.upkeep())
	for _, s := range room {
		list = append(list, Step(s))
	}
	return list, err
}

// leading has a step do nothing while another daemon leads.
func (b background) leading(run func(context.Context) (int, error)) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		if !b.eye.leads() {
			return 0, nil
		}
		return run(ctx)
	}
}

// judge judges, which may leave pieces to split: that is news, and the log has it not.
func (b background) judge(ctx context.Context) (n int, err error) {
	if n, err = b.rules.Judge(ctx); n > 0 {
		b.cfg.News()
	}
	return n, err
}

// idly is how often a step runs for which there is nothing to do as far as the machine knows: what others have left in tables goes.
const idly = 30 * time.Second

// when has a step of the leader run while the machine has something for it, and idly else.
func (b background) when(is func(machine.View) bool, run func(context.Context) (int, error)) func(context.Context) (int, error) {
	var last time.Time
	looked, leads, needed := int64(-1), false, false // as of the newest batch then
	return func(ctx context.Context) (int, error) {
		news := b.eye.news.Load()
		if news == looked && (!leads || !needed && time.Since(last) < idly) {
			return 0, nil
		}
		looked, leads, needed = -1, false, false
		err := b.loop.Watch(ctx, func(n *lease.Node) {
			if m, _ := n.Machine(); n.Leads() {
				leads, needed = true, is(m.(*machine.Machine).View())
			}
		})
		if err != nil {
			return 0, err
		}
		if looked = news; !leads || !needed && time.Since(last) < idly {
			return 0, nil
		}
		last = time.Now()
		return run(ctx)
	}
}

func waits(v machine.View) bool {
	for _, of := range v.Jobs() {
		if of.Waiting > 0 {
			return true
		}
	}
	return false
}

// reclaims says whether a share takes units back.
func reclaims(v machine.View) bool {
	return v.Site.Tree != nil && slices.ContainsFunc(v.Site.Tree.Nodes, func(n shares.Node) bool { return n.Plan.Reclaim != nil })
}

// Room of ids of jobs that is made ahead, and the size of their partitions.
const (
	jobRoom = 20_000_000
	jobSize = 10_000_000
)

// Room makes the partitions that a daemon makes at its start, and returns how many it made.
func Room(ctx context.Context, db *pgxpool.Pool, keep upkeep.Keep) (int, error) {
	return upkeep.Room(ctx, background{&Dispatcher{cfg: Config{Pool: db, Keep: keep}, log: ledger.New(db)}}.upkeep())
}

func (b background) upkeep() upkeep.Config {
	folder := func() *fold.Folder { return fold.New(b.cfg.Pool, b.log, fold.Sites(b.cfg.Site)) } // one for each call: it is not for several at once
	store := replay.NewStore(b.cfg.Pool)
	return upkeep.Config{DB: b.cfg.Pool, Log: b.log, Keep: b.cfg.Keep,
		Needed: []upkeep.Needed{func(ctx context.Context, before time.Time) (int64, error) {
			seq, _, err := store.Retain(ctx, before)
			return seq, err
		}},
		Folded: func(ctx context.Context) (int64, time.Time, error) {
			p, err := folder().Position(ctx)
			return p.Seq, p.At, err
		},
		Roll:    func(ctx context.Context) error { return folder().RollNodes(ctx) },
		History: func(ctx context.Context, before time.Time) (int, error) { return folder().Retain(ctx, before) },
		Jobs: func(ctx context.Context, before time.Time) (int, error) {
			return intake.Retire(ctx, b.cfg.Pool, before, b.isLive)
		},
		Ahead: func(ctx context.Context) (int, error) { return intake.Extend(ctx, b.cfg.Pool, jobRoom, jobSize) }}
}

var _ upkeep.Log = (*ledger.Table)(nil)

func (b background) isLive(ctx context.Context, low, high int64) (is bool, err error) {
	err = b.cfg.Pool.QueryRow(ctx, query["live_among"], pg.Args{"low": low, "high": high}).Scan(&is)
	return is, pg.Named("live jobs", err)
}

// reorder gives jobs the places of another aging, and tells the leader.
func (b background) reorder(ctx context.Context) (n int, err error) {
	if n, err = intake.Reorder(ctx, b.cfg.Pool); n > 0 {
		b.Written()
	}
	return n, err
}

// checkpoint keeps one for replays where it is due.
func (b background) checkpoint(ctx context.Context) (n int, err error) {
	store := replay.NewStore(b.cfg.Pool)
	var at time.Time
	if err := b.loop.Watch(ctx, func(n *lease.Node) { at = n.At() }); err != nil || at.IsZero() {
		return 0, err
	}
	due, err := store.Due(ctx, at)
	if err != nil || !due {
		return 0, err
	}
	c, err := b.eye.checkpoint(ctx)
	if err != nil || c == nil {
		return 0, err
	}
	if bytes, err := store.Keep(ctx, c); err != nil || bytes == 0 {
		return 0, err
	}
	return 1, nil
}
