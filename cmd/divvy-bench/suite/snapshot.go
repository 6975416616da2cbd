package suite

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// slicePart is the part of the ready jobs that one slice takes.
const slicePart = 0.4

// snapshot is S6: claims before and after many claims under one snapshot. Every slice is the same: claims over HTTP,
// then all of them are finished and as many jobs generated, so that dead rows of jobs and leases pile up as they do in
// production. Only the claims are timed.
func (s *stage) snapshot(ctx context.Context, _ selection) error {
	before := s.before
	if len(before.rates) == 0 {
		var err error
		if before, err = s.claimRounds(ctx, "before the snapshot"); err != nil {
			return err
		}
	}
	if err := s.restore(ctx); err != nil {
		return err
	}
	held, err := s.openSnapshot(ctx)
	if err != nil {
		return err
	}
	defer held.close(context.WithoutCancel(ctx))
	s.command(fmt.Sprintf("a REPEATABLE READ transaction that has read is open during %d claims, in slices of %d; what a slice claimed is finished after it, and jobs are generated anew",
		s.Snapshot, s.slice()))
	var through []float64
	for done := 0; done < s.Snapshot; {
		s.say("%d of %d claims under the snapshot", done, s.Snapshot)
		result, err := s.claimSlice(ctx)
		if err != nil {
			return err
		}
		done += result.All
		through = append(through, float64(result.Answers)/result.Elapsed.Seconds())
	}
	after, err := s.claimRounds(ctx, "at the end, under the snapshot")
	if err != nil {
		return err
	}
	dead, err := s.deadRows(ctx)
	if err != nil {
		return err
	}
	if err := held.check(ctx); err != nil {
		return err
	}
	if err := s.measured(ctx, "claims under a snapshot"); err != nil {
		return err
	}
	s.figures6(before, after, newSeries("every slice under it", "jobs/s", through), dead)
	return nil
}

func (s *stage) figures6(before, after claimRounds, through Series, dead []Series) {
	base, end := newSeries("claims before the snapshot", "jobs/s", before.rates), newSeries("claims at the end, under the snapshot", "jobs/s", after.rates)
	s.figure(atLeast("S6", "ratio", end.Median/base.Median, 0.7, append([]Series{end, base, through}, dead...)...))
	slow, slowBase := newSeries("p99 of a claim at the end, under the snapshot", "ms", after.p99s), newSeries("p99 before the snapshot", "ms", before.p99s)
	s.figure(atMost("S6", "p99_ratio", slow.Median/slowBase.Median, 3, slow, slowBase))
}

// claimRounds is what rounds of claims over HTTP gave.
type claimRounds struct{ rates, p99s, efforts []float64 }

func (c *claimRounds) add(o outcome) {
	c.rates, c.p99s = append(c.rates, float64(o.Answers)/o.Elapsed.Seconds()), append(c.p99s, o.P99)
	c.efforts = append(c.efforts, o.Effort)
}

// claimRounds restores the data set before each round; the claims of the last one are left open.
func (s *stage) claimRounds(ctx context.Context, when string) (c claimRounds, err error) {
	for r := range s.Rounds {
		if err := s.restore(ctx); err != nil {
			return c, err
		}
		s.say("round %d of %d: claims over HTTP %s", r+1, s.Rounds, when)
		result, err := s.claimsServed(ctx, 0)
		if err != nil {
			return c, err
		}
		c.add(result)
	}
	return c, nil
}

// slice is how many claims a slice has: as many for each connection, and in all slices no fewer than asked for.
func (s *stage) slice() int {
	n := int(math.Ceil(float64(s.Snapshot) / (slicePart * float64(s.Ready))))
	return (s.Snapshot + n*s.Pullers - 1) / (n * s.Pullers) * s.Pullers
}

// claimSlice claims the jobs of a slice, however long it takes, and restores the data set.
func (s *stage) claimSlice(ctx context.Context) (outcome, error) {
	const ever = time.Hour
	o := order{Mode: modePull, Address: s.address(), Duration: ever, Most: s.slice()}
	for i := range s.Pullers {
		o.Bodies = append(o.Bodies, s.body(i))
	}
	result, claims, err := s.runLoad(ctx, o)
	if err != nil {
		return result, err
	}
	if result.All != len(claims) || result.All == 0 {
		return result, &CheckError{[]error{fmt.Errorf("%d answers with %d leases", result.All, len(claims))}}
	}
	if err := s.took(ctx, claims); err != nil {
		return result, err
	}
	return result, s.restore(ctx)
}

// openSnapshot is a transaction that has read and stays open: no row that dies after it may be removed.
type openSnapshot struct {
	conn *pgxpool.Conn
	tx   pgx.Tx
	made int64 // what it sees
}

func (s *stage) openSnapshot(ctx context.Context) (*openSnapshot, error) {
	conn, err := s.place.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		conn.Release()
		return nil, err
	}
	held := &openSnapshot{conn: conn, tx: tx}
	if held.made, err = held.read(ctx); err != nil {
		held.close(context.WithoutCancel(ctx))
		return nil, err
	}
	return held, nil
}

func (o *openSnapshot) close(ctx context.Context) {
	_ = o.tx.Rollback(ctx) // it wrote nothing
	o.conn.Release()
}

func (o *openSnapshot) read(ctx context.Context) (made int64, err error) {
	err = o.tx.QueryRow(ctx, query["snapshot"]).Scan(&made)
	return made, err
}

// check fails when the transaction did not last, or sees anything that came after it.
func (o *openSnapshot) check(ctx context.Context) error {
	made, err := o.read(ctx)
	if err != nil {
		return fmt.Errorf("the snapshot did not stay open: %w", err)
	}
	if made != o.made {
		return &CheckError{[]error{fmt.Errorf("the snapshot saw %d jobs made, and now %d", o.made, made)}}
	}
	return nil
}

// deadRows are the rows that the snapshot kept from being removed, as PostgreSQL estimates them.
func (s *stage) deadRows(ctx context.Context) (dead []Series, err error) {
	rows, err := s.place.reader().Query(ctx, query["dead_rows"])
	if err != nil {
		return nil, err
	}
	var table string
	var n float64
	_, err = pgx.ForEachRow(rows, []any{&table, &n}, func() error {
		dead = append(dead, newSeries("dead rows of "+table+" at the end", "rows", []float64{n}))
		return nil
	})
	return dead, err
}
