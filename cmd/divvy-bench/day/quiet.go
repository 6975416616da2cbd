package day

import (
	"context"
	"errors"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/proc"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
)

// What a quiet site may take, in per cent of a core, and how long one of its pulls may.
const (
	quietBusy     = 8                // daemon and PostgreSQL
	quietPull     = 10               // ms, p99
	quietDaemon   = 0.5              // idle
	quietPostgres = 1                // idle
	quietFirst    = 10 * time.Second // steps keep their pace for a while after the last news
)

// Quiet is S12: a daemon of its own on a server of its own, since autovacuum of what other measurements left would count, with nothing to do, then
// with 20,000 slots whose jobs take ten minutes. The stage is that of the run, whose report gets the figures.
func Quiet(ctx context.Context, s *stage.Stage) (err error) {
	d := Day{Slots: 20_000, Node: 64, Queues: stage.Base.Queues, Tree: stage.Base.Tree, Speed: 1, Length: time.Hour, MeanJob: 10 * time.Minute, Fail: 0.05, Rests: 1, Lease: 3 * time.Minute, Seed: 1}
	r := &run{Day: d, Stage: &stage.Stage{Sizes: s.Sizes, Config: s.Config, Book: s.Book, Plan: d.plan()}}
	if r.Place, err = stage.OpenPlace(ctx, "", s.Config.Log); err != nil {
		return err
	}
	return errors.Join(r.quiet(ctx), r.Stop(context.WithoutCancel(ctx)))
}

// quiet starts the daemon, and has it do nothing, then little.
func (r *run) quiet(ctx context.Context) (err error) {
	if err := r.open(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.daemon.Stop()) }()
	r.Book.Say("a daemon that has nothing to do, for %s", r.quietWindow())
	own, postgres, err := r.spent(ctx)
	if err != nil {
		return err
	}
	r.Book.Add(figure.AtMost("S12", "idle_daemon_percent", own, quietDaemon, figure.Of("processor time of an idle daemon", "% of a core", own)),
		figure.AtMost("S12", "idle_postgres_percent", postgres, quietPostgres, figure.Of("processor time of PostgreSQL beside it", "% of a core", postgres)))
	if err := r.submitFirst(ctx); err != nil {
		return err
	}
	if err := r.stocked(ctx); err != nil {
		return err
	}
	return r.piloted(ctx, func(ctx context.Context) error {
		defer r.pilots.close()
		return r.busily(ctx)
	})
}

// busily fills the slots and has jobs end.
func (r *run) busily(ctx context.Context) error {
	r.Book.Say("filling %d slots", r.Slots)
	if err := r.full(ctx); err != nil {
		return err
	}
	r.pilots.begin()
	r.pilots.move(true)
	r.Book.Say("jobs of %s in them, for %s", r.MeanJob, r.quietWindow())
	from, began := r.pilots.counts.now(), time.Now()
	own, postgres, err := r.spent(ctx)
	if err != nil {
		return err
	}
	pulls, now := r.pilots.waits.take(), r.pilots.counts.now()
	if len(pulls) == 0 {
		return figure.TooShort("no job began")
	}
	rate := float64(now.granted-from.granted) / time.Since(began).Seconds()
	slow := figure.Of("p99 of pulls that brought jobs", "ms", figure.Quantile(pulls, 0.99))
	r.Book.Add(figure.AtMost("S12", "busy_percent", own+postgres, quietBusy, figure.Of("processor time of the daemon", "% of a core", own),
		figure.Of("of PostgreSQL", "% of a core", postgres), figure.Of("jobs that began", "jobs/s", rate)),
		figure.AtMost("S12", "pull_p99_ms", slow.Median, quietPull, slow, figure.Of("p50", "ms", figure.Quantile(pulls, 0.5))))
	return errors.Join(r.pilots.attempts.trouble(), r.recount(ctx))
}

// quietWindow is for how long processor time is taken: steps that come once a minute count in a full run.
func (r *run) quietWindow() time.Duration { return 12 * r.Round }

// spent waits until what was begun is over, then is the processor time of daemon and PostgreSQL in a window, in per cent of a core.
func (r *run) spent(ctx context.Context) (daemon, postgres float64, err error) {
	if err := stage.Pause(ctx, max(r.quietWindow()/4, quietFirst)); err != nil {
		return 0, 0, err
	}
	r.pilots.waits.take() // pilots that were held up all asked at once
	var at [2]time.Time
	var own, server [2]time.Duration
	for i := range at {
		if i == 1 {
			if err := stage.Pause(ctx, r.quietWindow()); err != nil {
				return 0, 0, err
			}
		}
		at[i] = time.Now()
		if own[i], err = r.daemon.CPU(); err != nil {
			return 0, 0, err
		}
		if server[i], err = proc.TreeCPU(r.Place.Process); err != nil {
			return 0, 0, err
		}
	}
	percent := func(of [2]time.Duration) float64 { return 100 * (of[1] - of[0]).Seconds() / at[1].Sub(at[0]).Seconds() }
	return percent(own), percent(server), nil
}
