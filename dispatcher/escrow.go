package dispatcher

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// takeRow is the answer to a take.
type takeRow struct {
	Amount  shares.Units
	Granted shares.Units // the escrow row afterwards
}

// take asks for the escrow that a decision lacks under a limit: all that is free when this is the only daemon, else a part of
// it, and as the last units run out just that much, under the lock of the limit's row. When there is less, the others hear
// that somebody wants units.
func (d *Dispatcher) take(l *limit, lacks lack, epoch int64) {
	ctx, cancel := context.WithTimeout(context.Background(), d.cfg.Timing.Statement)
	defer cancel()
	d.mu.Lock()
	parts := 1
	if n := len(d.daemons); n > 1 {
		parts = 2 * n
	}
	args := l.args()
	args["daemon"], args["need"], args["parts"], args["epoch"] = d.id, int64(lacks.more), parts, epoch
	unmade := l.unmade
	d.mu.Unlock()

	var err error
	if unmade {
		err = d.makeLimit(ctx, l, epoch)
	}
	var got []takeRow
	if err == nil {
		got, err = collect[takeRow](ctx, d.cfg.Pool, "take", args)
	}

	d.mu.Lock()
	defer d.mu.Unlock()
	l.taking, l.unmade = false, err != nil && l.unmade
	switch {
	case err != nil:
		d.cfg.Log.Warn("escrow cannot be taken", "limit", l.key, "err", err)
		if uncertain(err) {
			d.outdated = true // the row may have changed: read it again
		}
	case len(got) == 0:
		d.outdated = true // another epoch
	case got[0].Amount == 0:
		l.dry, l.refused, l.asked = true, lacks, time.Now()
	default:
		l.granted, l.dry = got[0].Granted, false
		l.ease()
	}
	d.line.unblock(d, err)
	d.kick()
}

// makeLimit makes the row of a limit that nobody has used in this epoch. It is made behind the barrier: under another one
// there may be more held than this daemon knows of.
func (d *Dispatcher) makeLimit(ctx context.Context, l *limit, epoch int64) error {
	args := l.args()
	args["cap"], args["epoch"] = int64(l.cap), epoch
	return pg.InTx(ctx, d.cfg.Pool, func(tx pgx.Tx) error {
		if err := barrierShared(ctx, tx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, query["make_limit"], args)
		return err
	})
}

func (l *limit) args() pgx.StrictNamedArgs {
	return pgx.StrictNamedArgs{"kind": l.key.Kind, "ref": l.key.Ref, "pool": l.key.Pool}
}

// yield gives escrow back: under a limit in debt whatever has ended here, under one that others want all that is
// not spent. d.mu is held.
func (d *Dispatcher) yield(wanted map[*limit]bool) {
	for l := range wanted {
		d.yieldOne(l)
	}
}

// yieldDebt returns what ended under limits in debt. d.mu is held.
func (d *Dispatcher) yieldDebt() {
	for l := range d.inDebt {
		d.yieldOne(l)
	}
}

func (d *Dispatcher) yieldOne(l *limit) {
	amount := l.granted - l.spent
	if amount <= 0 || l.taking || d.outdated {
		return
	}
	l.taking = true
	l.granted -= amount
	args := l.args()
	args["daemon"], args["amount"], args["epoch"] = d.id, int64(amount), d.state.epoch
	d.work.Go(func() { d.giveUp(l, args) })
}

func (d *Dispatcher) giveUp(l *limit, args pgx.StrictNamedArgs) {
	ctx, cancel := context.WithTimeout(context.Background(), d.cfg.Timing.Statement)
	defer cancel()
	var free shares.Units
	err := d.cfg.Pool.QueryRow(ctx, query["give_up"], args).Scan(&free)
	d.mu.Lock()
	defer d.mu.Unlock()
	l.taking = false
	if err != nil {
		d.outdated = true
		return
	}
	if l.debt && free >= 0 {
		d.outOfDebt(l)
	}
	if l.debt {
		d.yieldOne(l) // what ended meanwhile
	}
	d.line.unblock(d, nil)
	d.line.stir((*class).short)
	d.kick()
}

// outOfDebt lets a limit be used again. d.mu is held.
func (d *Dispatcher) outOfDebt(l *limit) {
	l.debt, l.dry = false, false
	l.ease()
	delete(d.inDebt, l)
}

// limitRow is a limit that somebody has an interest in.
type limitRow struct {
	Kind, Ref, Pool string
	Free            shares.Units
	Wanted          bool
}

// askAgainAfter is when a daemon that got nothing asks again, if it still has a job for it: what is wanted is forgotten after
// two seconds, and who has units of which jobs ended later than that would keep them.
const askAgainAfter = time.Second

// watchLimits reads the limits that this daemon waits for or that others want, and acts on them.
func (d *Dispatcher) watchLimits(ctx context.Context) error {
	d.mu.Lock()
	var kinds, refs, pools []string
	for key, l := range d.state.limits {
		if l.dry || l.debt {
			kinds, refs, pools = append(kinds, key.Kind), append(refs, key.Ref), append(pools, key.Pool)
		}
	}
	quiet := len(d.state.limits) == 0 || len(d.daemons) <= 1 && len(d.inDebt) == 0
	epoch := d.state.epoch
	d.mu.Unlock()
	if quiet {
		return nil
	}
	args := pgx.StrictNamedArgs{"kinds": kinds, "refs": refs, "pools": pools}
	rows, err := d.cfg.Pool.Query(ctx, query["watch_limits"], args)
	if err != nil {
		return err
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByName[limitRow])
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if epoch != d.state.epoch {
		return nil
	}
	wanted := map[*limit]bool{}
	relief := false
	for _, r := range got {
		l := d.state.limits[limitKey{r.Kind, r.Ref, r.Pool}]
		if l == nil {
			continue
		}
		if l.debt && r.Free >= 0 {
			d.outOfDebt(l)
		}
		// What ended here may be as much as was lacking: others wait for the rest.
		if l.dry && (r.Free > 0 || l.balance() >= l.refused.need || time.Since(l.asked) > askAgainAfter) {
			l.dry, relief = false, true
			l.ease()
		}
		if r.Wanted && !l.dry {
			wanted[l] = true
		}
	}
	d.yield(wanted)
	d.yieldDebt()
	if relief {
		d.line.stir((*class).short)
		d.kick()
	}
	return nil
}
