package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"

	"github.com/divvyhq/divvy/cmd/divvy-bench/proc"
)

// footprint is S9: a daemon in a process of its own on the largest data set.
func (s *stage) footprint(ctx context.Context) error {
	if err := s.holdMore(ctx, s.Growth.Held); err != nil {
		return err
	}
	s.Held = s.Growth.Held
	if err := s.measured(ctx, fmt.Sprintf("loading %d ready, %d held", s.Ready, s.Held)); err != nil {
		return err
	}
	if err := s.unserve(ctx); err != nil {
		return err
	}
	if err := proc.MayOpen(s.Growth.Polls + 1000); err != nil {
		return err
	}
	if err := s.starts(ctx); err != nil {
		return err
	}
	d, err := s.startDaemon(ctx)
	if err != nil {
		return err
	}
	err = s.weigh(ctx, d)
	if err = errors.Join(err, d.stop()); err != nil {
		return err
	}
	return s.measured(ctx, "weighing the daemon")
}

// starts measures how long a daemon takes from its start to the first job that it hands out.
func (s *stage) starts(ctx context.Context) error {
	var took, rows []float64
	s.command(fmt.Sprintf("start: divvy serve on %d ready and %d held jobs; from exec to the answer of the first POST /v1/pulls", s.Ready, s.Held))
	for r := range s.few() {
		s.say("round %d of %d: start of the daemon", r+1, s.few())
		before, err := s.jobsRead(ctx)
		if err != nil {
			return err
		}
		first, err := s.startOnce(ctx, s.layout().queue(r))
		if err != nil {
			return err
		}
		after, err := s.jobsRead(ctx) // its connections have gone: they reported all
		if err != nil {
			return err
		}
		took, rows = append(took, first.Seconds()), append(rows, float64(after-before))
	}
	series := newSeries("from exec to the first job", "s", took)
	s.figure(atMost("S9", "start_s", series.Median, 5, series,
		newSeries("rows of jobs, ranges and leases that were read until the daemon had stopped", "rows", rows)))
	return nil
}

// startOnce starts a daemon, takes one job and stops it.
func (s *stage) startOnce(ctx context.Context, queue string) (took time.Duration, err error) {
	d, err := s.startDaemon(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	reply, err := d.client.Pull(ctx, dispatcher.PullRequest{Queue: queue, Pilot: "first", Slot: job.Slot{Cores: 1}, WaitS: 60})
	took = time.Since(d.began)
	if err != nil {
		return 0, fmt.Errorf("first pull of a daemon: %w", err)
	}
	return took, s.took(ctx, []claim{{reply.Leases[0].Job, reply.Leases[0].Lease}})
}

// jobsRead is how many rows of jobs, of ranges of them and of leases were read so far, as far as the server's statistics have heard of it.
func (s *stage) jobsRead(ctx context.Context) (n int64, err error) {
	err = s.place.pool.QueryRow(ctx, query["jobs_read"]).Scan(&n)
	return n, err
}

// weigh claims from the daemon's first second on, then, with the long polls open, for some rounds more, and reads what the kernel counted for it.
func (s *stage) weigh(ctx context.Context, d *process) (err error) {
	s.say("claims over HTTP, the first seconds of the daemon")
	o := s.pullOrder(d.address(), 0)
	o.WarmUp = 0
	first, claims, err := s.runLoad(ctx, o)
	if err = errors.Join(err, s.took(ctx, claims)); err != nil {
		return err
	}
	s.say("opening %d long polls", s.Growth.Polls)
	polls, err := s.openPolls(ctx, d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, polls.close(ctx)) }()
	var each, rates, slow []float64
	for r := range s.few() {
		s.say("round %d of %d: claims over HTTP, processor time of the daemon", r+1, s.few())
		before, err := d.cpu()
		if err != nil {
			return err
		}
		result, claims, err := s.runLoad(ctx, s.pullOrder(d.address(), 0))
		if err != nil {
			return err
		}
		after, err := d.cpu()
		if err != nil {
			return err
		}
		if err := s.took(ctx, claims); err != nil {
			return err
		}
		each = append(each, float64((after-before).Microseconds())/float64(max(1, len(claims))))
		rates, slow = append(rates, float64(result.Answers)/result.Elapsed.Seconds()), append(slow, result.P99)
	}
	now, peak, err := d.memory()
	if err != nil {
		return err
	}
	s.figure(atMost("S9", "memory_mb", peak, 400, newSeries("most memory that was resident", "MB", []float64{peak}),
		newSeries("after claims", "MB", []float64{now})))
	cpu, later := newSeries("processor time of the daemon a claim", "us", each), newSeries("claims over HTTP", "jobs/s", rates)
	s.figure(atMost("S9", "cpu_us_a_claim", cpu.Median, 40, cpu, later))
	begin := float64(first.Answers) / first.Elapsed.Seconds()
	s.figure(atLeast("S9", "first_seconds_ratio", begin/later.Median, 0.9, newSeries("claims over HTTP, the first seconds", "jobs/s", []float64{begin}),
		newSeries("p99 of a claim then", "ms", []float64{first.P99}), newSeries("p99 later", "ms", slow)))
	return nil
}

// polls are long polls that a load process keeps open at a daemon.
type polls struct {
	*loader
	at    *process
	ended chan error
}

// openPolls returns when the daemon has them all.
func (s *stage) openPolls(ctx context.Context, d *process) (*polls, error) {
	o := order{Mode: modeWait, Address: d.address()}
	for i := range s.Growth.Polls {
		text, err := json.Marshal(dispatcher.PullRequest{Queue: idleQueue, Pilot: fmt.Sprint("w", i), Slot: job.Slot{Cores: 1}, WaitS: 300})
		if err != nil {
			return nil, err
		}
		o.Bodies = append(o.Bodies, string(text))
	}
	s.command(fmt.Sprintf("load process: %d connections long-poll at queue %s all the time", s.Growth.Polls, idleQueue))
	l, err := s.startLoad(ctx, o)
	if err != nil {
		return nil, err
	}
	p := &polls{loader: l, at: d, ended: make(chan error, 1)}
	go func() {
		_, err := l.read(func(claim, time.Time) {})
		p.ended <- err
	}()
	if err := p.until(ctx, func(open int) bool { return open >= s.Growth.Polls }); err != nil {
		return nil, errors.Join(fmt.Errorf("%d long polls are not open: %w", s.Growth.Polls, err), p.close(ctx))
	}
	return p, nil
}

// until waits until the daemon says that so many pulls wait at the idle queue.
func (p *polls) until(ctx context.Context, enough func(open int) bool) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		q, err := p.at.client.Queue(ctx, idleQueue)
		if err != nil {
			return err
		}
		if enough(q.Waiting) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d pulls wait at queue %s: %w", q.Waiting, idleQueue, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// close ends the load process and waits until the daemon has noticed that its connections are gone.
func (p *polls) close(ctx context.Context) error {
	_ = p.in.Close()
	err := <-p.ended
	return errors.Join(err, p.until(context.WithoutCancel(ctx), func(open int) bool { return open == 0 }))
}

// What a quiet site may take, in per cent of a core, and how long one of its pulls may.
const (
	quietSlots    = 20_000
	quietJob      = 10 * time.Minute
	quietBusy     = 8                // daemon and PostgreSQL
	quietPull     = 10               // ms, p99
	quietDaemon   = 0.5              // idle
	quietPostgres = 1                // idle
	quietFirst    = 10 * time.Second // steps keep their pace for a while after the last news
)

// quiet is S12: a daemon of its own on a server of its own, since autovacuum of what other measurements left would count, with nothing to do, then
// with 20,000 slots whose jobs take ten minutes.
func (s *stage) quiet(ctx context.Context, _ selection) (err error) {
	if s.place.process == 0 {
		return &unmeasured{"processor time of PostgreSQL is seen in a private cluster only"}
	}
	if err := s.unserve(ctx); err != nil {
		return err
	}
	day := Day{Slots: quietSlots, Node: 64, Queues: queues, Tree: basePlan.tree, Speed: 1, Length: time.Hour, MeanJob: quietJob, Fail: 0.05, Rests: 1, Lease: 3 * time.Minute, Seed: 1}
	t := &stage{Sizes: s.Sizes, cfg: s.cfg, report: s.report, plan: day.sitePlan()}
	if t.place, err = openPlace(ctx, "", s.cfg.Log); err != nil {
		return err
	}
	r := &dayRun{Day: day, stage: t}
	err = r.quietly(ctx)
	if err = errors.Join(err, r.stop(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	return s.goOn(ctx)
}

// quietly starts the daemon, and has it do nothing, then little.
func (r *dayRun) quietly(ctx context.Context) error {
	if err := r.start(ctx); err != nil {
		return err
	}
	r.site = r.newPilots()
	r.say("a daemon that has nothing to do, for %s", r.quietWindow())
	own, postgres, err := r.spent(ctx)
	if err != nil {
		return err
	}
	r.figure(atMost("S12", "idle_daemon_percent", own, quietDaemon, newSeries("processor time of an idle daemon", "% of a core", []float64{own})))
	r.figure(atMost("S12", "idle_postgres_percent", postgres, quietPostgres, newSeries("processor time of PostgreSQL beside it", "% of a core", []float64{postgres})))
	if err := r.submitFirst(ctx); err != nil {
		return err
	}
	if err := r.stocked(ctx); err != nil {
		return err
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- r.site.run(inner) }()
	err = r.busily(ctx)
	r.site.close()
	r.site.stop()
	if err != nil {
		cancel()
	}
	return errors.Join(err, <-ended)
}

// busily fills the slots and has jobs end.
func (r *dayRun) busily(ctx context.Context) error {
	r.say("filling %d slots", r.Slots)
	if err := r.full(ctx); err != nil {
		return err
	}
	r.site.begin()
	r.site.move(true)
	r.say("jobs of %s in them, for %s", r.MeanJob, r.quietWindow())
	from, began := r.site.now(), time.Now()
	own, postgres, err := r.spent(ctx)
	if err != nil {
		return err
	}
	pulls, now := r.site.waits.take(), r.site.now()
	if len(pulls) == 0 {
		return &unmeasured{"no job began: " + tooShort}
	}
	rate := float64(now.granted-from.granted) / time.Since(began).Seconds()
	r.figure(atMost("S12", "busy_percent", own+postgres, quietBusy, newSeries("processor time of the daemon", "% of a core", []float64{own}),
		newSeries("of PostgreSQL", "% of a core", []float64{postgres}), newSeries("jobs that began", "jobs/s", []float64{rate})))
	slow := newSeries("p99 of pulls that brought jobs", "ms", []float64{quantile(pulls, 0.99)})
	r.figure(atMost("S12", "pull_p99_ms", slow.Median, quietPull, slow, newSeries("p50", "ms", []float64{quantile(pulls, 0.5)})))
	return errors.Join(r.site.trouble(), r.recount(ctx))
}

// quietWindow is for how long processor time is taken: steps that come once a minute count in a full run.
func (r *dayRun) quietWindow() time.Duration { return 12 * r.Round }

// spent waits until what was begun is over, then is the processor time of daemon and PostgreSQL in a window, in per cent of a core.
func (r *dayRun) spent(ctx context.Context) (daemon, postgres float64, err error) {
	if err := wait(ctx, max(r.quietWindow()/4, quietFirst)); err != nil {
		return 0, 0, err
	}
	r.site.waits.take() // pilots that were held up all asked at once
	var at [2]time.Time
	var own, server [2]time.Duration
	for i := range at {
		if i == 1 {
			if err := wait(ctx, r.quietWindow()); err != nil {
				return 0, 0, err
			}
		}
		at[i] = time.Now()
		if own[i], err = r.daemon.cpu(); err != nil {
			return 0, 0, err
		}
		if server[i], err = proc.TreeCPU(r.place.process); err != nil {
			return 0, 0, err
		}
	}
	percent := func(of [2]time.Duration) float64 { return 100 * (of[1] - of[0]).Seconds() / at[1].Sub(at[0]).Seconds() }
	return percent(own), percent(server), nil
}
