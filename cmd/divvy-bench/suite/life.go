package suite

import (
	"context"
	"fmt"

	"github.com/divvyhq/divvy/cmd/divvy-bench/day"
	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/load"
	"github.com/divvyhq/divvy/internal/pg"
)

// wholeLife is S3: whole lives over HTTP beside River's own bench.
func wholeLife(ctx context.Context, r *run) error {
	floor, err := newRiver(ctx, r)
	if err != nil {
		return err
	}
	// In the end, not now: dropping a database writes out what all of them have changed.
	r.Place.Cleanup = append(r.Place.Cleanup, func(ctx context.Context) error { floor.remove(ctx); return nil })
	o := r.LifeOrder(1)
	r.Book.Command("load process: divvy-bench-load, %d keep-alive connections of %d slots each, POST /v1/pulls %s, then %s and %s with all of its leases",
		len(o.Bodies), load.Slots, o.Bodies[0], load.PathRenew, load.PathFinish)
	var rounds figure.Rounds
	for i := range r.Rounds {
		r.Book.Say("round %d of %d: River", i+1, r.Rounds)
		rate, err := floor.measure(ctx)
		if err != nil {
			return err
		}
		rounds.Add("River "+floor.version, "jobs/s", rate)
		r.Book.Say("round %d of %d: whole lives over HTTP", i+1, r.Rounds)
		l, err := r.LifeRound(ctx)
		if err != nil {
			return err
		}
		note(&rounds, "whole lives over HTTP", l)
		rounds.Add("p99 from a pull to its last verdict", "ms", l.P99)
		rounds.Add(r.Place.Effort(), "us", l.Effort)
	}
	if err := r.Measured(ctx, "whole lives over HTTP"); err != nil {
		return err
	}
	top, f := rounds.Of("whole lives over HTTP"), rounds.Of("River "+floor.version)
	r.Book.Add(figure.AtLeast("S3", "ratio", top.Median/f.Median, 1.5, top, f, rounds.Of("p99 from a pull to its last verdict")).With(rounds.Of(r.Place.Effort())))
	return nil
}

// What a whole life may write, in bytes of WAL, and what may be left of it, in bytes of disk.
const (
	lifeWAL  = 600
	lifeDisk = 300
)

// written is what was written by a moment, in bytes.
type written struct {
	WAL     float64
	History float64 // disk of attempts that are over, with their texts
	Job     float64 // disk of a job with its part of a block
}

// lifeBytes is S11: the WAL of whole lives, with one renewal and with ten, and the disk of jobs that are over. Before each round there is one
// that does not count: pages that a checkpoint or the stage has left behind go into the WAL as a whole once.
func lifeBytes(ctx context.Context, r *run) error {
	const disk = "disk of a job that is over, with its attempt"
	wal := map[int]string{1: "WAL of a life with one renewal", 10: "WAL of a life with ten renewals"}
	var rounds figure.Rounds
	for i := range r.Rounds {
		for _, renews := range []int{1, 10} {
			if _, err := r.LifeRound(ctx); err != nil {
				return err
			}
			r.Book.Say("round %d of %d: bytes of whole lives with %d renewals", i+1, r.Rounds, renews)
			before, err := pg.Row[written](ctx, r.Place.Pool, query["life_bytes"])
			if err != nil {
				return err
			}
			result, err := r.Lives(ctx, renews)
			if err != nil {
				return err
			}
			after, err := pg.Row[written](ctx, r.Place.Pool, query["life_bytes"])
			if err != nil {
				return err
			}
			n := float64(max(1, result.All))
			rounds.Add(wal[renews], "B", (after.WAL-before.WAL)/n)
			rounds.Add(disk, "B", (after.History-before.History)/n+after.Job)
			if err := r.Replace(ctx, result.All); err != nil {
				return err
			}
		}
	}
	if err := r.Measured(ctx, "bytes of whole lives"); err != nil {
		return err
	}
	once, often, left := rounds.Of(wal[1]), rounds.Of(wal[10]), rounds.Of(disk)
	r.Book.Add(figure.AtMost("S11", "wal_bytes_a_life", once.Median, lifeWAL, once), figure.AtMost("S11", "wal_bytes_renewed_often", often.Median, lifeWAL, often),
		figure.AtMost("S11", "disk_bytes_a_job", left.Median, lifeDisk, left))
	return nil
}

// count writes 1000000 as 1M.
func count(n int) string {
	switch {
	case n%1_000_000 == 0:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n%1000 == 0:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

// quiet is S12.
func quiet(ctx context.Context, r *run) error {
	if r.Place.Process == 0 {
		return &figure.Unmeasured{Why: "processor time of PostgreSQL is seen in a private cluster only"}
	}
	if err := r.Unserve(ctx); err != nil {
		return err
	}
	if err := day.Quiet(ctx, r.Stage); err != nil {
		return err
	}
	return goOn(ctx, r.Stage)
}
