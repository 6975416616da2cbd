package fold

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/shares"
)

// Sink takes what a daemon starts from. A nil function does not want it.
type Sink struct {
	Entry    func(entry.Entry)             // the newest of each kind that has no table, shapes first; Adopted without its Site
	Expected func(entry.Expected)          // what is left of it
	User     func(task int64, user string) // of every task with live jobs; before their ranges and leases
	Paused   func(task int64)              // before ranges
	Claims   func(*gate.Saved)             // before ranges
	Range    func(Range)                   // in the order of ids
	Kill     func(Kill)                    // in the order of the log; before leases
	Lease    func(Holding)                 // in no order
}

// Holding is a lease as it stands now: Share is the one that is charged, Place where its job comes back.
type Holding struct {
	Lease
	Home shares.ShareID // to which its job comes back
}

// Load gives the tables to a sink, all as they were at one moment, and returns which: the log goes on from there.
func Load(ctx context.Context, db DB, sink Sink) (p Position, err error) {
	tx, err := db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return p, fmt.Errorf("load the fold: %w", err)
	}
	defer tx.Rollback(ctx)
	if p, err = position(ctx, tx); err != nil {
		return p, err
	}
	return p, load(ctx, tx, sink)
}

func load(ctx context.Context, tx pgx.Tx, sink Sink) error {
	saved, moves := &gate.Saved{}, map[int64][]Move{}
	steps := []struct {
		name  string
		wants bool
		fn    func(*row)
	}{
		{"latest", sink.Entry != nil, func(r *row) {
			if e := r.entry(); e != nil {
				sink.Entry(e)
			}
		}},
		{"expected", sink.Expected != nil, func(r *row) { sink.Expected(r.expected()) }},
		{"task_users", sink.User != nil, func(r *row) { sink.User(r.int64(), r.text()) }},
		{"paused_tasks", sink.Paused != nil, func(r *row) { sink.Paused(r.int64()) }},
		{"live_claims", sink.Claims != nil, func(r *row) { saved.Claims = append(saved.Claims, r.claim().SavedClaim) }},
		{"claim_parties", sink.Claims != nil, func(r *row) { saved.Parties = append(saved.Parties, r.party().SavedParty) }},
		{"idle_ranges", sink.Range != nil, func(r *row) { sink.Range(r.idle()) }},
		{"kills", sink.Kill != nil, func(r *row) { sink.Kill(r.kill()) }},
		{"moves", sink.Lease != nil, func(r *row) {
			m := r.move()
			moves[m.Task] = append(moves[m.Task], m)
		}},
		{"held", sink.Lease != nil, func(r *row) { sink.Lease(r.lease().holding(moves)) }},
	}
	for _, s := range steps {
		if !s.wants {
			continue
		}
		if err := askAll(ctx, tx, s.name, s.fn); err != nil {
			return fmt.Errorf("load %s: %w", s.name, err)
		}
		if s.name == "claim_parties" {
			sink.Claims(saved)
		}
	}
	return nil
}

func (l Lease) holding(moves map[int64][]Move) Holding {
	st := l.now(moves[l.Task])
	l.Share, l.Place = st.payer, st.place
	return Holding{l, st.share}
}

func (r *row) latest() Latest { return Latest{entry.Kind(r.char()), r.int64(), r.text(), r.text()} }

func (r *row) expected() entry.Expected {
	return entry.Expected{Share: shares.ShareID(r.int32()), Shape: r.int32(), Jobs: r.int64()}
}

// entry is that of a row of latest; nil: this version does not know its kind.
func (r *row) entry() entry.Entry {
	e, err := decode(r.latest())
	if err != nil {
		r.fail(err)
	}
	return e
}

// decode returns the entry; nil: this version does not know its kind.
func decode(l Latest) (entry.Entry, error) {
	e, err := entry.Decode(l.Kind, l.Entry)
	if err != nil {
		return nil, fmt.Errorf("entry of kind %q: %w", l.Kind, err)
	}
	return e, nil
}
