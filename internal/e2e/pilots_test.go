package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
)

// pilot is a simulated one: it pulls, "runs" jobs for a few milliseconds and reports them. Every call is said again,
// at another daemon when one is away, until it is answered.
type pilot struct {
	*storm
	name  string
	queue string
	rng   *rand.Rand
	at    *client.Client // the daemon that it talks to

	cutOff bool // it came back when its leases had run out
}

// answerWithin is how long a pilot waits for an answer before it asks another daemon.
const answerWithin = 3 * time.Second

// refusal is a 204.
type refusal struct {
	pilot, queue string
	daemon       string // URL
	wait         time.Duration
	from, to     int64
}

// pilots keeps one slot busy: when its pilot vanishes, another one comes.
func (s *storm) pilots(ctx context.Context, n int) {
	rng := rand.New(rand.NewPCG(s.seed, uint64(n)))
	queue := "BIG"
	if n%4 == 3 {
		queue = "SMALL"
	}
	for life := 0; ctx.Err() == nil; life++ {
		p := &pilot{storm: s, name: fmt.Sprintf("p%d.%d", n, life), queue: queue, rng: rng, at: s.fleet.any(rng)}
		p.live(ctx)
	}
}

// live goes on until the pilot vanishes or the run is over.
func (p *pilot) live(ctx context.Context) {
	for n := 1; ctx.Err() == nil; n++ {
		req := wire.PullRequest{Queue: p.queue, Pilot: p.name, Node: "e2e", Slot: wire.Slot{Cores: slotCores},
			Max: 1 + p.rng.IntN(6), WaitS: float64(p.rng.IntN(4)), RequestID: strconv.Itoa(n)}
		leases := p.pull(ctx, req)
		if len(leases) == 0 {
			continue
		}
		if p.rng.IntN(50) == 0 && p.vanished.Add(1) <= int64(p.mayVanish) {
			if p.rng.IntN(2) == 0 {
				p.work.Go(func() { p.comeBack(ctx, leases) })
			}
			return // without a word
		}
		p.perform(ctx, leases)
	}
}

// pull is one request, said until it is answered. Now and then the pilot hangs up and asks another daemon, so that
// two of them work on the same request.
func (p *pilot) pull(ctx context.Context, req wire.PullRequest) []wire.Lease {
	first := wall()
	for try := 0; ctx.Err() == nil; try++ {
		patience := time.Duration(req.WaitS*float64(time.Second)) + answerWithin
		if p.rng.IntN(50) == 0 {
			patience = time.Duration(1+p.rng.IntN(30)) * time.Millisecond
		}
		from := wall()
		reply, err := within(ctx, patience, func(ctx context.Context) (wire.PullReply, error) { return p.at.Pull(ctx, req) })
		switch {
		case err == nil:
			p.heard(reply.Leases, first)
			return reply.Leases
		case errors.Is(err, client.ErrNoJobs):
			p.refused(refusal{p.name, p.queue, p.at.URL(), time.Duration(req.WaitS * float64(time.Second)), from, wall()})
			return nil
		case client.IsCode(err, "request_over"):
			return nil // it was leased, and the leases ran out before the answer got through
		case !p.elsewhere(ctx, "pull", err, try):
			return nil
		}
	}
	return nil
}

func (p *pilot) heard(leases []wire.Lease, from int64) {
	to := wall()
	for _, l := range leases {
		p.history.add(said{job: l.Job, attempt: l.Attempt, verb: pulled, lease: l.Lease, daemon: p.at.URL(), from: from, to: to})
	}
}

// elsewhere goes to another daemon after an error that may pass; false: it is one that should not be.
func (p *pilot) elsewhere(ctx context.Context, what string, err error, try int) bool {
	if ctx.Err() != nil {
		return false
	}
	if !client.IsUnavailable(err) && !errors.Is(err, context.DeadlineExceeded) {
		p.oddity(fmt.Sprintf("%s of %s: %v", what, p.name, err))
		return false
	}
	if client.IsUnavailable(err) {
		var said *wire.Problem
		if errors.As(err, &said) {
			if p.away.Add(1); client.RetryAfter(err) <= 0 {
				p.oddity(fmt.Sprintf("%s of %s: %v, without Retry-After", what, p.name, err))
			}
		}
	}
	p.repeats.Add(1)
	p.at = p.fleet.any(p.rng)
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	return pause(ctx, time.Duration(20<<min(try, 4))*time.Millisecond)
}

// perform runs the jobs: the quick ones together, then those that need renewals.
func (p *pilot) perform(ctx context.Context, leases []wire.Lease) {
	var quick, slow []wire.Lease
	for _, l := range leases {
		if l.Command[1] == "slow" {
			slow = append(slow, l)
		} else {
			quick = append(quick, l)
		}
	}
	takes := p.rng.IntN(cmp.Or(p.pace, 4))
	if len(quick) > 0 && quick[0].Attempt > 1 {
		takes = p.rng.IntN(300) // so that former holders of the lease meet the new one
	}
	if len(quick) > 0 && pause(ctx, time.Duration(takes)*time.Millisecond) {
		if p.rng.IntN(2) == 0 {
			p.report(ctx, quick...)
		} else {
			for _, l := range quick {
				p.report(ctx, l)
			}
		}
		if p.rng.IntN(40) == 0 {
			p.report(ctx, quick...) // once more: ends are idempotent
		}
	}
	for _, l := range slow {
		if p.hold(ctx, l) {
			p.report(ctx, l)
		}
	}
}

// hold keeps a lease for longer than it lives by itself.
func (p *pilot) hold(ctx context.Context, l wire.Lease) (kept bool) {
	for until := time.Now().Add(leaseFirst + time.Second); time.Now().Before(until); {
		if !p.renew(ctx, l) {
			return false
		}
		if !pause(ctx, leaseRenew) {
			return false
		}
	}
	return true
}

func (p *pilot) renew(ctx context.Context, l wire.Lease) (kept bool) {
	op := said{job: l.Job, attempt: l.Attempt, verb: renewed, lease: l.Lease, from: wall(), to: never, unknown: true}
	req := wire.RenewRequest{Pilot: p.name, Leases: []wire.Renewal{{Lease: l.Lease, State: "running"}}}
	for try := 0; ctx.Err() == nil; try++ {
		reply, err := within(ctx, answerWithin, func(ctx context.Context) (wire.RenewReply, error) { return p.at.Renew(ctx, req) })
		if err == nil {
			op.unknown, op.kept, op.to = false, len(reply.Kept) == 1, wall()
			break
		}
		if !p.elsewhere(ctx, "renew", err, try) {
			break
		}
	}
	p.history.add(op)
	return op.kept
}

// outcome is how a job goes: what its command says. A pilot that was cut off says something else than whoever runs
// the job now, so that it shows when it is heard.
func (p *pilot) outcome(l wire.Lease) string {
	if p.cutOff {
		return "failed"
	}
	index, _ := strconv.Atoi(l.Command[2])
	if kind := l.Command[1]; kind == "bad" || kind == "flaky" && l.Attempt == 1 && index%7 == 0 {
		return "failed"
	}
	return "finished"
}

// report says how attempts ended, until it is answered or the run is over.
func (p *pilot) report(ctx context.Context, leases ...wire.Lease) {
	from := wall()
	req := wire.FinishRequest{Pilot: p.name}
	for _, l := range leases {
		req.Results = append(req.Results, wire.Result{Lease: l.Lease, Outcome: wire.Outcome(p.outcome(l))})
	}
	var reply wire.FinishReply
	err := errors.New("not said")
	tries := 0
	for ; ctx.Err() == nil; tries++ {
		patience := answerWithin
		if p.rng.IntN(50) == 0 {
			patience = time.Duration(1+p.rng.IntN(30)) * time.Millisecond
		}
		reply, err = within(ctx, patience, func(ctx context.Context) (wire.FinishReply, error) { return p.at.Finish(ctx, req) })
		if err == nil || !p.elsewhere(ctx, "finish", err, tries) {
			break
		}
	}
	to := wall()
	for i, l := range leases {
		op := said{job: l.Job, attempt: l.Attempt, verb: finished, lease: l.Lease, outcome: p.outcome(l), from: from, to: never, unknown: true}
		if err == nil {
			v := reply.Verdicts[i]
			op.unknown, op.to, op.verdict = false, to, v.Verdict
			if v.Lease != l.Lease {
				p.oddity("a verdict is out of order")
			}
			op.daemon = p.at.URL()
			if tries == 0 && !p.doubtful {
				op.state = v.JobState
			}
			if v.Verdict == "recorded" {
				p.progress.Add(1)
			}
		}
		p.history.add(op)
	}
}

// comeBack is a pilot that was cut off: when a lease of its has run out, it reports again and again, while others run
// the job.
func (p *pilot) comeBack(ctx context.Context, leases []wire.Lease) {
	rng := rand.New(rand.NewPCG(p.seed, uint64(leases[0].Job)))
	ghost := &pilot{storm: p.storm, name: p.name, queue: p.queue, rng: rng, at: p.fleet.any(rng), cutOff: true}
	last := leases[len(leases)-1]
	for taken := false; !taken && pause(ctx, 30*time.Millisecond); {
		job, err := within(ctx, answerWithin, func(ctx context.Context) (wire.JobRow, error) { return ghost.at.Jobs().Get(ctx, last.Job) })
		if err != nil && !ghost.elsewhere(ctx, "job", err, 0) {
			break
		}
		taken = err == nil && job.Attempt > last.Attempt
	}
	for range 30 {
		if !pause(ctx, 20*time.Millisecond) {
			break
		}
		ghost.report(ctx, leases...)
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	ghost.report(bounded, leases...)
}

// within bounds one call.
func within[T any](ctx context.Context, d time.Duration, do func(context.Context) (T, error)) (T, error) {
	bounded, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return do(bounded)
}

// pause waits; false when the run was over first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
