package dispatcher

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// tendClaims and tendJobs bound one TendClaims: claims, and jobs of one of them.
const (
	tendClaims = 200
	tendJobs   = 500 // grants of the claim wait for as long
)

// TendClaims brings claims and their jobs to where they belong: a claim that nobody holds is unbound when it has lingered,
// or at once when its last lease ran out, and released when no job is left; jobs of a claim that was bound or unbound go to
// the shape that says so. Claims that wait for a template of the site get it. It returns at how many claims it did something.
func (d *Dispatcher) TendClaims(ctx context.Context) (n int, err error) {
	d.tending.Lock()
	defer d.tending.Unlock()
	d.mu.Lock()
	none, binds := d.state.claims.shapes == 0, d.state.claims.placing.binds
	d.mu.Unlock()
	if none {
		return 0, nil
	}
	if n, err = d.fillTemplates(ctx); err != nil {
		return n, fmt.Errorf("tend claims: %w", err)
	}
	cursor := tendCursor{until: pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true},
		at: pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}}
	for range tendClaims {
		t, err := d.tendNext(ctx, &cursor)
		if err != nil {
			return n, fmt.Errorf("tend claims: %w", err)
		}
		if t.id == 0 {
			d.lookedAt(binds)
			break
		}
		if t.did {
			n++
		}
	}
	return n, nil
}

// tendCursor is where a TendClaims is: behind a claim, of those that were to be looked at when it began.
type tendCursor struct {
	at    pgtype.Timestamptz
	after int64
	until pgtype.Timestamptz
}

// pass puts the cursor behind a claim.
func (c *tendCursor) pass(r *tendRow) {
	if c.after == 0 {
		c.until = r.At
	}
	c.at, c.after = r.TendAt, r.ID
}

// tended is what was done at a claim.
type tended struct {
	id    int64 // 0: there was none that needed something
	did   bool  // false: others are at its jobs
	moves []move
}

// tendNext tends the next claim after one, in a transaction that has its row in the lane of claims.
func (d *Dispatcher) tendNext(ctx context.Context, cursor *tendCursor) (t tended, err error) {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Timing.Statement)
	defer cancel()
	l := d.lane(claimLane)
	if l.doubt {
		if err := d.resolveEnds(ctx, l); err != nil {
			return t, err
		}
	}
	at := *cursor
	err = pg.InTx(ctx, d.cfg.Pool, func(tx pgx.Tx) error {
		*cursor = at
		if t, err = d.tendClaim(ctx, tx, cursor); err != nil {
			return err
		}
		return l.write(ctx, tx, t.moves)
	})
	switch {
	case err != nil:
		l.doubt = uncertain(err) && len(t.moves) > 0
	case len(t.moves) > 0:
		d.bookEnds(ctx, l, t.moves)
	}
	return t, err
}

// tendRow is a claim that needs something done, locked.
type tendRow struct {
	ID       int64
	TaskID   int64
	State    string
	Sharers  int
	Unplaced bool
	PlacedTo int64
	ChargeID int32
	ShareID  shares.ShareID
	QueueID  shares.QueueID
	Ends     bool
	TendAt   pgtype.Timestamptz
	At       pgtype.Timestamptz // the moment of the look
	Planned  string             // settings of the transaction
}

// over says whether nobody will hold the claim again. One that people made is over for them to say.
func (c *tendRow) over(wanted bool) bool {
	return c.Sharers == 0 && !wanted && (c.TaskID != 0 || c.State != string(resource.ClaimBound))
}

// unbinds says whether the claim leaves its place while jobs wait for it: for other nodes or, if people took it away, until
// they make it again. Jobs of a task's claim that drains are about to be cancelled.
func (c *tendRow) unbinds() bool {
	if c.TaskID == 0 {
		return c.State == string(resource.ClaimDraining) && c.Sharers == 0
	}
	return c.Ends && c.State == string(resource.ClaimBound)
}

// tendClaim does what the next claim after one needs.
func (d *Dispatcher) tendClaim(ctx context.Context, tx pgx.Tx, cursor *tendCursor) (t tended, err error) {
	rows, err := collect[tendRow](ctx, tx, "tend_claim", pgx.StrictNamedArgs{"at": cursor.at, "after": cursor.after, "until": cursor.until})
	if err != nil || len(rows) == 0 {
		return t, err
	}
	c := rows[0]
	cursor.pass(&c)
	var wanted bool // looked up behind the lock: whoever adds jobs to the claim has it
	if err := tx.QueryRow(ctx, query["claim_wanted"], pgx.StrictNamedArgs{"claim": c.ID}).Scan(&wanted); err != nil {
		return t, err
	}
	t.id = c.ID
	over := c.over(wanted)
	if over || c.unbinds() {
		if _, err := tx.Exec(ctx, query["unbind_claim"], pgx.StrictNamedArgs{"id": c.ID, "released": over}); err != nil {
			return t, err
		}
		c.Unplaced, c.PlacedTo, t.did, t.moves = !over, 0, true, c.charges()
	}
	if c.Unplaced {
		placed, moves, err := d.placeClaimJobs(ctx, tx, c)
		t.did, t.moves = t.did || placed, append(t.moves, moves...)
		return t, err
	}
	if !t.did {
		_, err = tx.Exec(ctx, query["looked_at_claim"], pgx.StrictNamedArgs{"id": c.ID})
	}
	return t, err
}

// charges is the move of the units that the claim holds and gives back now.
func (c *tendRow) charges() []move {
	if c.ChargeID == 0 || c.ShareID == 0 {
		return nil
	}
	return []move{uncharged(chargeMove(charged{c.ShareID, c.ChargeID, c.QueueID}))}
}

// claimJobRow is a job of a claim.
type claimJobRow struct {
	ID      int64
	ShapeID int32
	Claims  []int64
}

// placeClaimJobs gives some jobs of a claim the shapes that say where their claims are.
func (d *Dispatcher) placeClaimJobs(ctx context.Context, tx pgx.Tx, c tendRow) (did bool, moves []move, err error) {
	args := pgx.StrictNamedArgs{"claim": c.ID, "after": c.PlacedTo, "n": tendJobs}
	jobs, err := collect[claimJobRow](ctx, tx, "claim_jobs", args)
	if err != nil {
		return false, nil, err
	}
	var all int
	if err := tx.QueryRow(ctx, query["count_claim_jobs"], args).Scan(&all); err != nil {
		return false, nil, err
	}
	moves, err = d.reshape(ctx, tx, jobs)
	if err != nil {
		return false, nil, err
	}
	more, upto := len(jobs) == tendJobs, c.PlacedTo
	switch {
	case all > len(jobs): // somebody is at one of them: these are looked at again
		more = true
	case more:
		upto = jobs[len(jobs)-1].ID
	}
	_, err = tx.Exec(ctx, query["placed_claim"], pgx.StrictNamedArgs{"id": c.ID, "more": more, "upto": upto})
	return len(moves) > 0 || !more || upto != c.PlacedTo, moves, err
}

// reshapedGroup counts jobs that are alike and got another shape.
type reshapedGroup struct {
	TaskID  int64
	ShareID shares.ShareID
	FromID  int32
	ToID    int32
	State   string
	Place   int64
	N       int32
	LowID   int64
	HighID  int64
}

// moves takes them out of the old shape and puts them into the new one.
func (g reshapedGroup) moves() []move {
	state := letter[g.State]
	out := move{Task: g.TaskID, Share: g.ShareID, Shape: g.FromID, Before: state, After: isNone, N: g.N, Place: g.Place, Low: g.LowID, High: g.HighID}
	in := out
	in.Shape, in.Before, in.After = g.ToID, isNone, state
	return []move{out, in}
}

// reshape gives locked jobs the shapes that say where their claims are.
func (d *Dispatcher) reshape(ctx context.Context, tx pgx.Tx, jobs []claimJobRow) (moves []move, err error) {
	claims, err := claimsOf(ctx, tx, jobs)
	if err != nil {
		return nil, err
	}
	interned := map[string]int32{}
	var ids []int64
	var to []int32
	for _, j := range jobs {
		need, err := d.fullNeed(ctx, j.ShapeID)
		if err != nil {
			return nil, err
		}
		of := make([]resource.Claim, len(j.Claims))
		for i, id := range j.Claims {
			of[i] = claims[id].claim()
			if charge := claims[id].ChargeID; charge != 0 && need.SharingID == "" {
				payer, err := d.fullNeed(ctx, charge)
				if err != nil {
					return nil, err
				}
				need.SharingID = payer.SharingID // the shape of where they are bound may do without it
			}
		}
		need.Claims = job.NeedOf(of)
		key := fmt.Sprint(j.ShapeID, " ", *need.Claims)
		shape, known := interned[key]
		if !known {
			if shape, err = Intern(ctx, tx, need); err != nil {
				return nil, err
			}
			interned[key] = shape
		}
		if shape != j.ShapeID {
			ids, to = append(ids, j.ID), append(to, shape)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	groups, err := collect[reshapedGroup](ctx, tx, "reshape_jobs", pgx.StrictNamedArgs{"ids": ids, "shapes": to})
	for _, g := range groups {
		moves = append(moves, g.moves()...)
	}
	return moves, err
}

// claimsOf reads all claims of jobs.
func claimsOf(ctx context.Context, tx pgx.Tx, jobs []claimJobRow) (map[int64]*claimRow, error) {
	var ids []int64
	for _, j := range jobs {
		ids = append(ids, j.Claims...)
	}
	slices.Sort(ids)
	rows, err := collect[claimRow](ctx, tx, "claims_of", pgx.StrictNamedArgs{"ids": append([]int64{}, slices.Compact(ids)...)})
	if err != nil {
		return nil, err
	}
	claims := make(map[int64]*claimRow, len(rows))
	for i := range rows {
		claims[rows[i].ID] = &rows[i]
	}
	return claims, nil
}

// fullNeed is what a shape stands for.
func (d *Dispatcher) fullNeed(ctx context.Context, shape int32) (job.Requirements, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state.shapes[shape] == nil {
		if err := d.state.loadShapes(ctx, d.cfg.Pool); err != nil {
			return job.Requirements{}, err
		}
	}
	sh := d.state.shapes[shape]
	if sh == nil {
		return job.Requirements{}, fmt.Errorf("there is no shape %d", shape)
	}
	return sh.full, nil
}
