package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
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
	if err := s.served.Stop(ctx); err != nil {
		return err
	}
	s.served = Served{}
	if err := mayOpen(s.Growth.Polls + 1000); err != nil {
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

// weigh opens the long polls, claims for some rounds and reads what the kernel counted for the daemon.
func (s *stage) weigh(ctx context.Context, d *process) (err error) {
	s.say("opening %d long polls", s.Growth.Polls)
	polls, err := s.openPolls(ctx, d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, polls.close(ctx)) }()
	idle, _, err := d.memory()
	if err != nil {
		return err
	}
	if err := s.warm(ctx, d.address()); err != nil { // it reads its windows first
		return err
	}
	var each, rates []float64
	for r := range s.few() {
		s.say("round %d of %d: claims over HTTP, processor time of the daemon", r+1, s.few())
		before, err := d.cpu()
		if err != nil {
			return err
		}
		result, claims, err := s.pulls(ctx, d.address(), 0)
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
		rates = append(rates, float64(result.Answers)/result.Elapsed.Seconds())
	}
	now, peak, err := d.memory()
	if err != nil {
		return err
	}
	s.figure(atMost("S9", "memory_mb", peak, 400, newSeries("most memory that was resident", "MB", []float64{peak}),
		newSeries("with the long polls, before claims", "MB", []float64{idle}), newSeries("after claims", "MB", []float64{now})))
	cpu := newSeries("processor time of the daemon a claim", "us", each)
	s.figure(atMost("S9", "cpu_us_a_claim", cpu.Median, 40, cpu, newSeries("claims over HTTP", "jobs/s", rates)))
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
