package pilot

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	wire "github.com/divvyhq/divvy/api/client"
)

// pilot is the state of one Run. Only the loop touches it; everything else posts.
type pilot struct {
	cfg     Config
	log     *slog.Logger
	files   *workDir
	starter *starter
	meter   *meter
	guard   *guard
	kin     *kin

	calls context.Context // ends with the loop
	wg    sync.WaitGroup
	posts chan func()
	gone  chan struct{} // closed when nobody takes posts any more

	free      room
	fresh     bool // free holds something that no poll has asked for in vain
	runs      map[string]*run
	polls     []*poll
	pollUntil time.Time // when the polls in flight end
	pullPause backoff
	mark      string // of this run, random
	prefix    string // of request ids: a part of mark, so that a restarted pilot never repeats one
	requests  int

	outbox    []*run // ended, result not recorded yet
	sending   bool
	finish    backoff
	single    int // so many results go one by one, since the server refused them together
	renewing  bool
	renewAt   time.Time
	renewWait time.Duration
	renewal   backoff

	begun     time.Time
	idleSince time.Time
	awaySince time.Time // zero: the server answers
	nJobs     int
	known     bool // the server has once accepted a pull of this pilot
	draining  bool
	killed    bool
	err       error
}

// Run is a pilot from its first pull to the end of its last job. It returns nil when it was told to leave, and an
// error when the configuration is wrong or the server refuses its very first pull.
func Run(ctx context.Context, cfg Config) error {
	cfg, err := cfg.complete()
	if err != nil {
		return err
	}
	files, err := openWorkDir(cfg.WorkDir, cfg.KeepLogs)
	if err != nil {
		return fmt.Errorf("pilot: work folder: %w", err)
	}
	defer files.close()
	if files.user, err = lookUpPayloadUser(cfg.PayloadUser); err != nil {
		return fmt.Errorf("pilot: payload user: %w", err)
	}
	if err := files.user.enter(files.root); err != nil {
		return fmt.Errorf("pilot: payload user: %w", err)
	}
	if err := files.stock(cfg.Slots); err != nil {
		return fmt.Errorf("pilot: work folder: %w", err)
	}
	mark := rand.Text()
	g, err := startGuard(cfg.Guard, mark, cfg.Log)
	if err != nil {
		return fmt.Errorf("pilot: guard: %w", err)
	}
	defer g.close()
	var k *kin
	if cfg.Alone {
		if k, err = newKin(g, mark); err != nil {
			return fmt.Errorf("pilot: %w", err)
		}
		defer k.close()
	}
	now := time.Now()
	p := &pilot{
		cfg: cfg, log: cfg.Log, files: files, guard: g, kin: k, starter: newStarter(), meter: newMeter(cfg.timing.Sample),
		posts: make(chan func()), gone: make(chan struct{}),
		free: room{cfg.Slots, cfg.Cores, cfg.MemoryMB, cfg.DiskMB}, fresh: true,
		runs: map[string]*run{}, mark: mark, prefix: mark[:10], renewWait: cfg.timing.Renew,
		begun: now, idleSince: now,
	}
	calls, cancel := context.WithCancel(context.Background())
	p.calls = calls
	p.log.Info("pilot starts", "queue", cfg.Queue, "pilot", cfg.Name, "slots", cfg.Slots, "cores", cfg.Cores, "work", files.root)
	p.loop(ctx)
	cancel()
	close(p.gone)
	p.wg.Wait()
	p.starter.close()
	p.meter.close()
	p.log.Info("pilot leaves", "jobs", p.nJobs)
	return p.err
}

// loop does what is due, then waits for whatever comes first: a post, a moment, the wish to leave.
func (p *pilot) loop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	leave, kill := ctx.Done(), p.cfg.Kill
	for {
		now := time.Now()
		p.step(now)
		if p.draining && len(p.polls) == 0 && len(p.runs) == 0 {
			return
		}
		timer.Reset(time.Until(p.next(now)))
		select {
		case f := <-p.posts:
			f()
			p.takePosts()
		case <-timer.C:
		case <-leave:
			leave = nil
			p.drain("told to")
		case <-kill:
			leave, kill = nil, nil
			p.drain("told to at once")
			p.killAll()
		}
	}
}

// takePosts runs what else was posted, so that results that come together are sent together.
func (p *pilot) takePosts() {
	for {
		select {
		case f := <-p.posts:
			f()
		default:
			return
		}
	}
}

// step does everything that is due. Results go before pulls: the shares then count without the ended jobs.
func (p *pilot) step(now time.Time) {
	if p.due(now) {
		p.drain("as configured")
	}
	p.report(now)
	p.renew(now)
	p.pull(now)
}

// due says that the pilot has reached one of its own bounds.
func (p *pilot) due(now time.Time) bool {
	c := &p.cfg
	idle := len(p.runs) == 0 && c.MaxIdle > 0 && now.Sub(p.idleSince) >= c.MaxIdle
	return !p.draining && (idle || c.MaxJobs > 0 && p.nJobs >= c.MaxJobs || c.WalltimeS > 0 && p.left(now) < time.Second)
}

// left is how long the pilot lives on, if its life is bounded.
func (p *pilot) left(now time.Time) time.Duration {
	return time.Duration(p.cfg.WalltimeS)*time.Second - now.Sub(p.begun)
}

// next is when the loop has something to do even if nothing happens.
func (p *pilot) next(now time.Time) time.Time {
	next := now.Add(time.Hour)
	sooner := func(t time.Time) {
		if t.After(now) && t.Before(next) {
			next = t
		}
	}
	for _, q := range p.polls {
		sooner(q.again.at)
	}
	if len(p.runs) > 0 {
		sooner(p.renewAt)
		sooner(p.renewal.at)
	} else if p.cfg.MaxIdle > 0 {
		sooner(p.idleSince.Add(p.cfg.MaxIdle))
	}
	sooner(p.finish.at)
	sooner(p.pullPause.at)
	sooner(p.pollUntil.Add(p.cfg.timing.Gather))
	if p.cfg.WalltimeS > 0 {
		sooner(now.Add(p.left(now) - time.Second + time.Millisecond))
	}
	return next
}

// beside runs f beside the loop; Run waits for it.
func (p *pilot) beside(f func()) { p.wg.Go(f) }

// post hands f to the loop. Nothing is posted that the loop does not wait for, except at its very end.
func (p *pilot) post(f func()) {
	select {
	case p.posts <- f:
	case <-p.gone:
	}
}

// drain ends pulling. Polls on their way are cut short, and asked again whether they were given leases.
func (p *pilot) drain(why string) {
	if p.draining {
		return
	}
	p.draining = true
	p.log.Info("pilot drains", "why", why, "running", len(p.runs))
	for _, q := range p.polls {
		if q.cancel != nil {
			q.cancel()
		} else {
			q.probe()
		}
	}
}

func (p *pilot) killAll() {
	p.killed = true
	for _, r := range p.runs {
		p.killNow(r)
	}
}

func (p *pilot) killNow(r *run) {
	if !r.ended {
		r.order(stop{outcome: failed, why: "the pilot was told to stop at once"})
	}
}

// accept begins to run a lease. A token that is here already came twice, by the repeat of a pull.
func (p *pilot) accept(now time.Time, l wire.Lease) {
	if p.runs[l.Lease] != nil {
		return
	}
	if len(p.runs) == 0 {
		p.renewAt = now.Add(p.renewWait)
	}
	r := newRun(l, p.cfg.timing)
	p.runs[l.Lease] = r
	p.free = p.free.minus(r.room())
	p.nJobs++
	if p.killed {
		p.killNow(r)
	}
	p.beside(func() {
		res := p.execute(r)
		p.post(func() { p.endedRun(r, res) })
		p.tidy(r)
	})
}

// endedRun takes a result in, unless the lease is lost.
func (p *pilot) endedRun(r *run, res wire.Result) {
	r.ended, r.result = true, res
	if r.lost {
		p.drop(r)
		return
	}
	p.log.Info("job ended", "job", r.lease.Job, "attempt", r.lease.Attempt, "outcome", res.Outcome, "message", res.Message)
	p.outbox = append(p.outbox, r)
}

// drop forgets a run whose end the server knows.
func (p *pilot) drop(r *run) {
	p.vacate(r)
	p.outbox = slices.DeleteFunc(p.outbox, func(o *run) bool { return o == r })
	delete(p.runs, r.lease.Lease)
	if len(p.runs) == 0 {
		p.idleSince = time.Now()
	}
}

// vacate gives the room of an ended run back, once.
func (p *pilot) vacate(r *run) {
	if !r.vacated {
		r.vacated = true
		p.free, p.fresh = p.free.plus(r.room()), true
	}
}

// answered notes that the server gave an answer: whoever waits for it to come back need not wait on.
func (p *pilot) answered(now time.Time) {
	if !p.awaySince.IsZero() {
		p.log.Info("server is back", "after", now.Sub(p.awaySince).Round(time.Millisecond))
		p.awaySince = time.Time{}
	}
	p.finish.hurry(now)
	p.renewal.hurry(now)
	for _, q := range p.polls {
		q.again.hurry(now)
	}
}

// away notes that a call got no answer, or one that says "later".
func (p *pilot) away(now time.Time, call string, err error) {
	if p.awaySince.IsZero() {
		p.awaySince = now
		p.log.Warn("server is away, jobs run on", "call", call, "error", err)
	}
}
