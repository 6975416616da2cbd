package suite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/generator"
)

// What the third part of S8 asks for: so many jobs a second out of tasks, while claims go on at so much of their rate, by a
// daemon that needs hardly more memory for it.
const (
	suppliedPerSecond = 50_000
	suppliedRatio     = 0.8
	suppliedMemory    = 1.2
)

// supplied is what the rounds of claims without and beside generation gave.
type supplied struct {
	alone, beside []float64 // claims a second
	made          []float64 // jobs a second
	first, last   float64   // most memory that was ever resident after these rounds, MB
}

// supply is the third part of S8: a daemon in a process of its own makes as many jobs as there are ready ones, in as many
// portions as there are rounds, while pilots claim over HTTP as fast as they can; and the same claims without that, in turn.
func (s *stage) supply(ctx context.Context) (err error) {
	if err := errors.Join(s.back(ctx), s.unserve(ctx)); err != nil {
		return err
	}
	d, err := s.startDaemon(ctx)
	if err != nil {
		return err
	}
	got, err := s.supplyRounds(ctx, d)
	if err = errors.Join(err, d.stop()); err != nil {
		return err
	}
	if err := s.goOn(ctx); err != nil {
		return err
	}
	if err := s.measured(ctx, "generation beside claims"); err != nil {
		return err
	}
	made := newSeries("made beside claims", "jobs/s", got.made)
	s.figure(atLeast("S8", "beside_claims_per_s", made.Median, suppliedPerSecond, made))
	beside, alone := newSeries("claims beside generation", "jobs/s", got.beside), newSeries("claims without", "jobs/s", got.alone)
	s.figure(atLeast("S8", "beside_claims_ratio", beside.Median/alone.Median, suppliedRatio, beside, alone))
	s.figure(atMost("S8", "beside_claims_memory_ratio", got.last/got.first, suppliedMemory,
		newSeries("most memory of the daemon in the end", "MB", []float64{got.last}), newSeries("after the first round", "MB", []float64{got.first})))
	return nil
}

// portion is how many jobs a round of supply makes, and in which shares: in a brief run, of two rounds, in so many that each has as
// many as in a long one, since a batch is of one share.
func (s *stage) portion() (n int, of []leaf) {
	if s.Brief {
		return s.Ready * 3 / 20, s.leaves[:max(1, len(s.leaves)*9/20)]
	}
	return s.Ready / s.Rounds, s.leaves
}

func (s *stage) supplyRounds(ctx context.Context, d *process) (got supplied, err error) {
	portion, of := s.portion()
	s.command(fmt.Sprintf("generation beside claims: %d jobs of %d shapes and %d shares submitted at once, by the generators of divvy serve; load process: %d connections, POST /v1/pulls",
		portion, nShapes, len(of), s.Pullers))
	if err := s.warm(ctx, s.pullOrder(d.address(), 0)); err != nil {
		return got, err
	}
	rounds := s.Rounds
	if s.Brief {
		rounds = min(rounds, 2)
	}
	for r := range rounds {
		s.say("round %d of %d: claims without generation", r+1, rounds)
		o := s.pullOrder(d.address(), 0)
		o.Most = s.Ready / 5
		alone, claims, err := s.runLoad(ctx, o)
		if err = errors.Join(err, s.took(ctx, claims)); err != nil {
			return got, err
		}
		got.alone = append(got.alone, float64(alone.Answers)/alone.Elapsed.Seconds())
		s.say("round %d of %d: %d jobs beside claims", r+1, rounds, portion)
		if err := s.supplyOnce(ctx, d, &got); err != nil {
			return got, err
		}
		s.taken += len(s.open) // that restore makes up for
		if err := s.finish(ctx, d.client); err != nil {
			return got, err
		}
		if _, got.last, err = d.memory(); err != nil {
			return got, err
		}
		if r == 0 {
			got.first = got.last
		}
	}
	return got, nil
}

// supplyOnce submits a portion while pilots claim, who stop when all of it is made.
func (s *stage) supplyOnce(ctx context.Context, d *process, got *supplied) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o := s.pullOrder(d.address(), 0)
	o.Most, o.Duration = s.Ready*3/10, 0
	l, err := s.startLoad(ctx, o)
	if err != nil {
		return err
	}
	var result outcome
	var claims []claim
	ended := make(chan error, 1)
	go func() {
		var err error
		result, err = l.read(func(c claim, _ time.Time) { claims = append(claims, c) })
		ended <- err
	}()
	took, err := s.makePortion(ctx, o.WarmUp)
	if err != nil {
		cancel()
		return errors.Join(err, <-ended)
	}
	_ = l.in.Close()
	if err := <-ended; err != nil {
		return err
	}
	portion, _ := s.portion()
	got.made = append(got.made, float64(portion)/took.Seconds())
	got.beside = append(got.beside, float64(result.Answers)/result.Elapsed.Seconds())
	return s.took(ctx, claims)
}

// makePortion submits the tasks of a round, after so long, and waits until all their jobs are made.
func (s *stage) makePortion(ctx context.Context, after time.Duration) (took time.Duration, err error) {
	var tasks []generator.SubmitRequest
	portion, of := s.portion()
	for shape := range nShapes {
		n := portion*(shape+1)/nShapes - portion*shape/nShapes
		for i, count := range divide(n, of) {
			if count > 0 {
				tasks = append(tasks, generator.SubmitRequest{Spec: work(of[i].path, shapes[shape], count)})
			}
		}
	}
	if err := pause(ctx, after); err != nil {
		return 0, err
	}
	s.taken -= portion // that need not be made when what was claimed is finished
	began := time.Now()
	all, err := s.gen.SubmitMany(ctx, tasks)
	if err != nil {
		return 0, err
	}
	ids := make([]int64, len(all))
	for i, one := range all {
		if one.Err != nil {
			return 0, one.Err
		}
		ids[i] = one.Task.ID
	}
	for {
		var left int64
		if err := s.place.pool.QueryRow(ctx, query["pieces_left_of"], pgx.StrictNamedArgs{"tasks": ids}).Scan(&left); err != nil {
			return 0, err
		}
		end, err := s.place.logEnd(ctx)
		if err != nil {
			return 0, err
		}
		if left == 0 && end.Pending == 0 {
			return time.Since(began), nil
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
