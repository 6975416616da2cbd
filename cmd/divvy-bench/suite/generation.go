package suite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/load"
	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
)

// What the third part of S8 asks for: so many jobs a second out of tasks, while claims go on at so much of their rate, by a
// daemon that needs hardly more memory for it.
const (
	suppliedPerSecond = 50_000
	suppliedRatio     = 0.8
	suppliedMemory    = 1.2
)

// generation is what is left of S8 after the loading of the data set.
func generation(ctx context.Context, r *run) error {
	if err := submissions(ctx, r); err != nil {
		return err
	}
	return supply(ctx, r)
}

// submissions is the second part of S8.
func submissions(ctx context.Context, r *run) error {
	var took []float64
	n := r.sizes.Inputs
	o := load.Order{Mode: load.Submit, Address: r.Served.Address(), Inputs: n, Task: stage.Work(r.Leaves[0].Path, stage.Shapes[0], 0)}
	o.Task.InputsStreamed, o.Task.Command = true, []string{"/bin/reconstruct", "--input", "{{.Input}}"}
	r.Book.Command("load process: one task, %d inputs in chunks of the Go client (10,000 a request, one after the other), commit", n)
	for i := range r.sizes.Submits {
		r.Book.Say("round %d of %d: submission of %d inputs", i+1, r.sizes.Submits, n)
		result, _, err := load.Do(ctx, r.Config.Load, o)
		if err != nil {
			return err
		}
		stored, err := recount.Value[int64](ctx, r.Place.Pool, query["stored_inputs"], pgx.StrictNamedArgs{"task": result.Task})
		if err != nil {
			return err
		}
		if stored != int64(n) {
			return recount.Failedf("%d of %d inputs are stored", stored, n)
		}
		took = append(took, result.Elapsed.Seconds())
		if err := kill(ctx, r, result.Task); err != nil {
			return err
		}
	}
	if err := r.Measured(ctx, "submissions"); err != nil {
		return err
	}
	series := figure.Of(fmt.Sprintf("submission of %d inputs", n), "s", took...)
	// The target is that of a million; fewer inputs have as much less time.
	r.Book.Add(figure.AtMost("S8", "submit_"+count(n)+"_s", series.Median, 10*float64(n)/1e6, series))
	return nil
}

// kill ends a task and waits until it is over: the generator has begun on it.
func kill(ctx context.Context, r *run, task int64) error {
	if _, err := r.Generator.Verbs().Say(ctx, "kill", task, nil); err != nil {
		return err
	}
	return stage.Until(ctx, 100*time.Millisecond, time.Minute, "the task that was killed does not end", func() (bool, error) {
		t, err := r.Tasks.Task(ctx, task)
		return t.State == "aborted", err
	})
}

// supply is the third part of S8: a daemon in a process of its own makes as many jobs as there are ready ones, in as many
// portions as there are rounds, while pilots claim over HTTP as fast as they can; and the same claims without that, in turn.
func supply(ctx context.Context, r *run) (err error) {
	if err := errors.Join(r.Back(ctx), r.Unserve(ctx)); err != nil {
		return err
	}
	d, err := stage.Start(ctx, r.Config.Daemon, r.Place.DSN)
	if err != nil {
		return err
	}
	var rounds figure.Rounds
	if err = errors.Join(supplyRounds(ctx, r, d, &rounds), d.Stop()); err != nil {
		return err
	}
	if err := goOn(ctx, r.Stage); err != nil {
		return err
	}
	if err := r.Measured(ctx, "generation beside claims"); err != nil {
		return err
	}
	made, beside, alone, peaks := rounds.Of("made beside claims"), rounds.Of("claims beside generation"), rounds.Of("claims without"), rounds.Of("memory").Rounds
	first, last := peaks[0], peaks[len(peaks)-1]
	r.Book.Add(figure.AtLeast("S8", "beside_claims_per_s", made.Median, suppliedPerSecond, made),
		figure.AtLeast("S8", "beside_claims_ratio", beside.Median/alone.Median, suppliedRatio, beside, alone),
		figure.AtMost("S8", "beside_claims_memory_ratio", last/first, suppliedMemory,
			figure.Of("most memory of the daemon in the end", "MB", last), figure.Of("after the first round", "MB", first)))
	return nil
}

// portion is how many jobs a round of supply makes, and in which shares: in a brief run, of two rounds, in so many that each has as
// many as in a long one, since a batch is of one share.
func (r *run) portion() (rounds, n int, of []stage.Leaf) {
	if r.Brief {
		return min(r.Rounds, 2), r.Ready * 3 / 20, r.Leaves[:max(1, len(r.Leaves)*9/20)]
	}
	return r.Rounds, r.Ready / r.Rounds, r.Leaves
}

func supplyRounds(ctx context.Context, r *run, d *stage.Process, all *figure.Rounds) error {
	rounds, portion, of := r.portion()
	r.Book.Command("generation beside claims: %d jobs of %d shapes and %d shares submitted at once, by the generators of divvy serve; load process: %d connections, POST /v1/pulls",
		portion, len(stage.Shapes), len(of), r.Pullers)
	if err := r.Warm(ctx, r.PullOrder(d.Address(), 0)); err != nil {
		return err
	}
	for i := range rounds {
		r.Book.Say("round %d of %d: claims without generation", i+1, rounds)
		o := r.PullOrder(d.Address(), 0)
		o.Most = r.Ready / 5
		alone, claims, err := load.Do(ctx, r.Config.Load, o)
		if err = errors.Join(err, r.Took(ctx, claims)); err != nil {
			return err
		}
		all.Add("claims without", "jobs/s", alone.Rate())
		r.Book.Say("round %d of %d: %d jobs beside claims", i+1, rounds, portion)
		if err := supplyOnce(ctx, r, d, all); err != nil {
			return err
		}
		r.Missed += len(r.Open) // that restore makes up for
		if err := r.Finish(ctx, stage.Remote{Client: d.Client}); err != nil {
			return err
		}
		_, peak, err := d.Memory()
		if err != nil {
			return err
		}
		all.Add("memory", "MB", peak)
	}
	return nil
}

// supplyOnce submits a portion while pilots claim, who stop when all of it is made.
func supplyOnce(ctx context.Context, r *run, d *stage.Process, all *figure.Rounds) (err error) {
	o := r.PullOrder(d.Address(), 0)
	o.Most, o.Duration = r.Ready*3/10, 0
	l, err := load.Start(ctx, r.Config.Load, o, nil)
	if err != nil {
		return err
	}
	_, portion, of := r.portion()
	took, err := makePortion(ctx, r, o.WarmUp, portion, of)
	if err != nil {
		return l.Fail(err)
	}
	result, claims, err := l.Stop()
	if err != nil {
		return err
	}
	all.Add("made beside claims", "jobs/s", float64(portion)/took.Seconds())
	all.Add("claims beside generation", "jobs/s", result.Rate())
	return r.Took(ctx, claims)
}

// makePortion submits the tasks of a round, after so long, and waits until all their jobs are made.
func makePortion(ctx context.Context, r *run, after time.Duration, portion int, of []stage.Leaf) (took time.Duration, err error) {
	tasks := stage.Tasks(portion, of)
	if err := stage.Pause(ctx, after); err != nil {
		return 0, err
	}
	r.Missed -= portion // that need not be made when what was claimed is finished
	began := time.Now()
	all, err := r.Generator.Submissions().SubmitMany(ctx, tasks)
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
	err = stage.Until(ctx, 50*time.Millisecond, time.Hour, "not all jobs are made", func() (bool, error) {
		left, err := r.Place.PiecesLeft(ctx, ids...)
		if err != nil {
			return false, err
		}
		end, err := r.Place.LogEnd(ctx)
		took = time.Since(began)
		return left == 0 && end.Pending == 0, err
	})
	return took, err
}
