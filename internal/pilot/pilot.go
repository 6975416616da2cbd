package pilot

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pilot/archive"
	"github.com/divvyhq/divvy/internal/pilot/payload"
)

// pilot is the state of one Run. Only the loop touches it; everything else posts.
type pilot struct {
	cfg   Config
	log   *slog.Logger
	host  *payload.Host
	logs  *archive.Place // nil: whole logs are not kept
	calls calls

	free     room
	fresh    bool // free holds something that no poll has asked for in vain
	runs     map[string]*run
	pulls    pulls
	outbox   outbox
	renewals renewals
	live     *live
	life     life
	away     time.Time // since when the server is; zero: it answers
}

// run is one lease in the loop's hands.
type run struct {
	lease   wire.Lease
	job     *payload.Job
	ended   bool // the result is there
	lost    bool // another pilot has the job; the result does not count
	sending bool // the result is on its way
	vacated bool // the room is given back
	bare    bool // the result goes without log and outputs
	result  wire.Result
	doubt   time.Time // until when its result waits, see put
	size    int       // of log and outputs, bytes
}

// Run is a pilot from its first pull to the end of its last job. It returns nil when it was told to leave, and an
// error when the configuration is wrong or the server refuses its very first pull.
func Run(ctx context.Context, cfg Config) error {
	cfg, err := cfg.complete()
	if err != nil {
		return err
	}
	var logs *archive.Place
	if cfg.Logs != "" {
		if logs, err = archive.Open(cfg.Logs, os.Getenv); err != nil {
			return fmt.Errorf("pilot: %w", err)
		}
	}
	host, err := payload.Open(cfg.Payload, payload.Owner{Name: cfg.Name, Queue: cfg.Queue, Slots: cfg.Slots, Log: cfg.Log, Timing: cfg.timing.Timing})
	if err != nil {
		return fmt.Errorf("pilot: %w", err)
	}
	defer host.Close()
	now := time.Now()
	p := &pilot{
		cfg: cfg, log: cfg.Log, host: host, logs: logs, calls: newCalls(),
		free: room{cfg.Slots, cfg.Cores, cfg.MemoryMB, cfg.DiskMB}, fresh: true,
		runs: map[string]*run{}, pulls: pulls{prefix: rand.Text()[:10]}, renewals: renewals{wait: cfg.timing.Renew}, live: newLive(cfg),
		life: newLife(cfg, now),
	}
	p.log.Info("pilot starts", "queue", cfg.Queue, "pilot", cfg.Name, "slots", cfg.Slots, "cores", cfg.Cores, "work", host.Root())
	var beside sync.WaitGroup
	beside.Go(func() { p.live.run(context.Background()) })
	p.loop(ctx)
	p.live.leave()
	beside.Wait()
	p.calls.end()
	p.log.Info("pilot leaves", "jobs", p.life.nJobs)
	return p.life.err
}

// loop does what is due, then waits for whatever comes first: a post, a moment, the wish to leave.
func (p *pilot) loop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	leave, kill := ctx.Done(), p.cfg.Kill
	for {
		now := time.Now()
		p.step(now)
		if p.life.draining && len(p.pulls.polls) == 0 && len(p.runs) == 0 {
			return
		}
		timer.Reset(time.Until(p.next(now)))
		select {
		case f := <-p.calls.posts:
			f()
			p.calls.takePosts()
		case <-timer.C:
		case <-leave:
			leave = nil
			p.told(time.Now())
		case <-kill:
			leave, kill = nil, nil
			p.told(time.Now())
			p.kill(0)
		}
	}
}

// step does everything that is due. Results go before pulls: the shares then count without the ended jobs.
func (p *pilot) step(now time.Time) {
	if p.life.due(now, &p.cfg, len(p.runs)) {
		p.drain("as configured")
	}
	if p.life.over(now) {
		p.kill(p.life.grace)
	}
	p.outbox.believe(now)
	p.report(now)
	p.renew(now)
	p.pull(now)
}

// next is when the loop has something to do even if nothing happens.
func (p *pilot) next(now time.Time) time.Time {
	next := now.Add(time.Hour)
	sooner := func(t time.Time) {
		if t.After(now) && t.Before(next) {
			next = t
		}
	}
	for _, q := range p.pulls.polls {
		sooner(q.again.at)
	}
	if len(p.runs) > 0 {
		sooner(p.renewals.at)
		sooner(p.renewals.again.at)
	} else if p.cfg.MaxIdle > 0 {
		sooner(p.life.idleSince.Add(p.cfg.MaxIdle))
	}
	sooner(p.outbox.again.at)
	sooner(p.pulls.pause.at)
	sooner(p.pulls.until.Add(p.cfg.timing.Gather))
	sooner(p.life.drainAt.Add(time.Millisecond - time.Second))
	sooner(p.life.endAt)
	for _, r := range p.outbox.doubted {
		sooner(r.doubt)
	}
	return next
}

// accept begins to run a lease. A token that is here already came twice, by the repeat of a pull.
func (p *pilot) accept(now time.Time, l wire.Lease) {
	if p.runs[l.Lease] != nil {
		return
	}
	if len(p.runs) == 0 {
		p.renewals.at = now.Add(p.renewals.wait)
	}
	r := &run{lease: l, job: p.host.NewJob(l)}
	p.runs[l.Lease] = r
	p.free = p.free.minus(needed(l))
	p.life.nJobs++
	if p.life.killed {
		r.kill(0)
	}
	p.live.add(l, r.job)
	p.calls.beside(func() {
		res, size := p.host.Run(r.job)
		p.live.ended(l)
		p.keepLogs(r, &res)
		p.calls.post(func() { p.endedRun(r, res, size) })
		p.host.Tidy(r.job) // no result is expected
	})
}

// endedRun takes a result in, unless the lease is lost.
func (p *pilot) endedRun(r *run, res wire.Result, size int) {
	r.ended, r.result, r.size = true, res, size
	if r.lost {
		p.drop(r)
		return
	}
	p.log.Info("job ended", "job", r.lease.Job, "attempt", r.lease.Attempt, "outcome", res.Outcome, "message", res.Message)
	now := time.Now()
	p.outbox.put(r, p.life.told || p.life.late(now), now.Add(p.cfg.timing.Doubt))
}

// drop forgets a run whose end the server knows.
func (p *pilot) drop(r *run) {
	p.vacate(r)
	p.outbox.drop(r)
	delete(p.runs, r.lease.Lease)
	if len(p.runs) == 0 {
		p.life.idleSince = time.Now()
	}
}

// vacate gives the room of an ended run back, once.
func (p *pilot) vacate(r *run) {
	if !r.vacated {
		r.vacated = true
		p.free, p.fresh = p.free.plus(needed(r.lease)), true
	}
}

// answered notes that the server gave an answer, and ends all waits for its return.
func (p *pilot) answered(now time.Time) {
	if !p.away.IsZero() {
		p.log.Info("server is back", "after", now.Sub(p.away).Round(time.Millisecond))
		p.away = time.Time{}
	}
	p.outbox.again.hurry(now)
	p.renewals.again.hurry(now)
	for _, q := range p.pulls.polls {
		q.again.hurry(now)
	}
}

// unanswered notes that a call got no answer, or one that says "later".
func (p *pilot) unanswered(now time.Time, call string, err error) {
	if p.away.IsZero() {
		p.away = now
		p.log.Warn("server is away, jobs run on", "call", call, "error", err)
	}
}
