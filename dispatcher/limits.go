package dispatcher

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// Barrier holds back every grant, and waits for those in flight, until the transaction ends. Whoever changes
// what grants are decided by (the site, the set of daemons) starts with it and ends with Rebase.
func Barrier(ctx context.Context, tx pgx.Tx) error {
	return pg.Lock(ctx, tx, pg.LockGrants, 0)
}

// barrierShared keeps Barrier away until the transaction ends: shares and queues that are read after it stay as
// they are. Transactions that enqueue start with it.
func barrierShared(ctx context.Context, tx pgx.Tx) error {
	return pg.LockShared(ctx, tx, pg.LockGrants, 0)
}

// limitKey names a hard limit: kind pool (ref its name), queue or share (ref the id; pool where the figure counts),
// target_slots (ref queue, share and class), or resource (ref its name, with the key of a family; pool is the name of the
// queue where every queue has units of its own).
type limitKey struct {
	Kind, Ref, Pool string
}

func poolLimit(pool string) limitKey       { return limitKey{Kind: "pool", Ref: pool} }
func queueLimit(q shares.QueueID) limitKey { return limitKey{Kind: "queue", Ref: strconv.Itoa(int(q))} }
func shareLimit(s shares.ShareID, pool string) limitKey {
	return limitKey{Kind: "share", Ref: strconv.Itoa(int(s)), Pool: pool}
}

// heldRow is what one share holds at one queue with jobs of one shape.
type heldRow struct {
	ShareID   shares.ShareID
	ShapeID   int32
	QueueID   shares.QueueID
	Held      int64
	HeldUnits shares.Units
	HeldCores int64
	Cores     int
	MemoryMB  int64
	Resources map[string]int64
}

// Rebase computes all hard limits anew for version v, with the plans of now, from what is held at this moment, takes
// every escrow back and raises the epoch: a grant that was decided before takes nothing, its daemon reads the limits
// again. The caller holds the Barrier.
func Rebase(ctx context.Context, tx pgx.Tx, v shares.Version) error {
	return rebase(ctx, tx, v, nil)
}

// rebase is Rebase by the clock of a Config.
func rebase(ctx context.Context, tx pgx.Tx, v shares.Version, clock func() time.Time) error {
	now, err := planTime(ctx, tx, clock)
	if err != nil {
		return fmt.Errorf("rebase limits: %w", err)
	}
	return rebaseAt(ctx, tx, v, now)
}

// rebaseAt is Rebase with the plans of another moment.
func rebaseAt(ctx context.Context, tx pgx.Tx, v shares.Version, at time.Time) error {
	v.Tree = v.Tree.At(at)
	for _, verb := range []string{"rebase_limits", "rebase_clear"} { // in this order
		if _, err := tx.Exec(ctx, query[verb]); err != nil {
			return fmt.Errorf("rebase limits: %w", err)
		}
	}
	rows, err := tx.Query(ctx, query["rebase_held"])
	if err != nil {
		return fmt.Errorf("rebase limits: %w", err)
	}
	held, err := pgx.CollectRows(rows, pgx.RowToStructByName[heldRow])
	if err != nil {
		return fmt.Errorf("rebase limits: %w", err)
	}
	var kinds, refs, pools []string
	var caps, free []int64
	targets, err := targetsAt(ctx, tx, at)
	if err != nil {
		return fmt.Errorf("rebase limits: %w", err)
	}
	limits := limitsOf(v, held)
	addTargets(limits, v, targets, held)
	addResources(limits, v, held)
	for key, l := range limits {
		kinds, refs, pools = append(kinds, key.Kind), append(refs, key.Ref), append(pools, key.Pool)
		caps, free = append(caps, int64(l.cap)), append(free, int64(l.cap-l.held))
	}
	_, err = tx.Exec(ctx, query["rebase_write"], pgx.StrictNamedArgs{
		"kinds": kinds, "refs": refs, "pools": pools, "caps": caps, "free": free, "version": v.Number, "plans_at": at})
	if err != nil {
		return fmt.Errorf("rebase limits: %w", err)
	}
	if _, err := tx.Exec(ctx, query["rebase_walk"]); err != nil {
		return fmt.Errorf("rebase places: %w", err)
	}
	return nil
}

type capAndHeld struct{ cap, held shares.Units }

// limitsOf lists the hard limits of a version and what is held under each.
func limitsOf(v shares.Version, held []heldRow) map[limitKey]*capAndHeld {
	limits := map[limitKey]*capAndHeld{}
	queues := map[shares.QueueID]shares.Queue{}
	for _, q := range v.Queues {
		queues[q.ID] = q
		if q.Slots != nil {
			limits[queueLimit(q.ID)] = &capAndHeld{cap: shares.Units(*q.Slots) * 1000}
		}
	}
	for pool, c := range capacities(v.Queues) {
		if c != shares.Unlimited {
			limits[poolLimit(pool)] = &capAndHeld{cap: c}
		}
		for _, n := range v.Tree.Nodes {
			if most, ok := n.Plan.Max.In(pool); ok {
				limits[shareLimit(n.ID, pool)] = &capAndHeld{cap: most}
			}
		}
	}
	for _, h := range held {
		q, known := queues[h.QueueID]
		if !known {
			continue
		}
		if l := limits[queueLimit(q.ID)]; l != nil {
			l.held += shares.Units(h.HeldCores) * 1000
		}
		if l := limits[poolLimit(q.Pool)]; l != nil && q.State == shares.Online {
			l.held += h.HeldUnits
		}
		for i, ok := v.Tree.ByID(h.ShareID); ok && i >= 0; i = v.Tree.Nodes[i].Parent {
			if l := limits[shareLimit(v.Tree.Nodes[i].ID, q.Pool)]; l != nil {
				l.held += h.HeldUnits
			}
		}
	}
	return limits
}

// addTargets adds the target slots of the queues that there are.
func addTargets(limits map[limitKey]*capAndHeld, v shares.Version, targets []targetRow, held []heldRow) {
	for _, t := range targets {
		i := slices.IndexFunc(v.Queues, func(q shares.Queue) bool { return q.Name == t.Queue })
		if i < 0 || t.Floor {
			continue
		}
		l := &capAndHeld{cap: shares.Units(t.Slots) * 1000}
		for _, h := range held {
			if h.QueueID == v.Queues[i].ID && t.covers(v.Tree, h.ShareID, job.Class(job.Requirements{Cores: h.Cores, MemoryMB: h.MemoryMB})) {
				l.held += shares.Units(h.HeldCores) * 1000
			}
		}
		limits[t.key(v.Queues[i].ID)] = l
	}
}

// capacities is C of every pool: the sum over its online queues, shares.Unlimited when one of them has no slots
// figure. Queues that drain or are offline neither add to C nor count against it: what they hold runs out there.
func capacities(queues []shares.Queue) map[string]shares.Units {
	c := map[string]shares.Units{}
	for _, q := range queues {
		if q.State != shares.Online {
			c[q.Pool] += 0
			continue
		}
		u, limited := q.Capacity()
		switch {
		case !limited, c[q.Pool] == shares.Unlimited:
			c[q.Pool] = shares.Unlimited
		default:
			c[q.Pool] += u
		}
	}
	return c
}

// limit is one hard limit as this daemon sees it: it may spend what the escrow row granted it.
type limit struct {
	key     limitKey
	cap     shares.Units
	granted shares.Units // our escrow row
	spent   shares.Units // net units that our lanes took since the epoch began, with grants in flight
	debt    bool         // more is held than the cap allows: what ends here goes back before anything is spent
	dry     bool         // the last take got nothing; set back when units may have come free
	refused lack         // what that take was for: there may be something for a smaller job
	asked   time.Time    // when it was refused
	taking  bool         // a take or return is on its way
	bars    []bar        // leaves that it keeps out of sets of contenders while it is dry
	supply  *supply      // that it is of; nil: of none
	unmade  bool         // it has no row yet in this epoch: nobody has used it
}

// balance is what may be spent without asking.
func (l *limit) balance() shares.Units {
	if l.debt {
		return 0
	}
	return l.granted - l.spent
}

// mayGive says whether asking for what lacks of so much may help: it does not where nobody else had as much the last time.
func (l *limit) mayGive(need shares.Units) bool { return !l.dry || need-l.balance() < l.refused.more }

// taking says whether a take or a return is on its way under any limit.
func (s *state) taking() bool {
	for _, l := range s.limits {
		if l.taking {
			return true
		}
	}
	return false
}
