package dispatcher

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/tally"
)

// Pull gives the slot the jobs that it should run next. It waits up to req.WaitS for one and returns ErrNoJobs when there was none,
// ErrUnknownQueue, ErrQueueClosed, a *job.FieldError, ErrRequestReused, ErrRequestOver, ErrStopping, or ErrUnavailable, or the error of a
// database: then it is unknown whether a job was leased, and a repeat with the same request id tells.
func (d *Dispatcher) Pull(ctx context.Context, req PullRequest) (PullReply, error) {
	reply, _, err := d.PullOrPark(ctx, req, nil)
	return reply, err
}

// PullOrPark is Pull that does not wait for long, if park is given: then it calls park and returns parked. What comes of the pull is told to
// then, once: outcome, which may take time, is for a goroutine that may.
func (d *Dispatcher) PullOrPark(ctx context.Context, req PullRequest, park func() (then func(outcome func() (PullReply, error)))) (
	reply PullReply, parked bool, err error,
) {
	p, err := newPulling(ctx, d, req)
	if err != nil {
		return reply, false, err
	}
	var later func() func(lease.Answer, error)
	if park != nil {
		later = func() func(lease.Answer, error) {
			then := park()
			return func(answer lease.Answer, err error) {
				then(func() (PullReply, error) { return p.outcome(answer, err) })
			}
		}
	}
	answer, parked, err := d.loop.AskOrPark(p.ctx, p.ask, later)
	if parked {
		return reply, true, nil
	}
	reply, err = p.outcome(answer, err)
	return reply, false, err
}

// pulling is a pull from its request to its outcome.
type pulling struct {
	d     *Dispatcher
	queue string
	ask   lease.Ask
	ctx   context.Context // of the request, with the span that end ends
	end   func(lease.Answer, error)
}

func newPulling(ctx context.Context, d *Dispatcher, req PullRequest) (*pulling, error) {
	req, err := checked(req)
	if err != nil {
		return nil, err
	}
	if d.draining.Load() {
		return nil, ErrStopping
	}
	wait := time.Duration(req.WaitS * float64(time.Second))
	until := time.Now().Add(wait)
	if err := d.brake.pass(ctx, wait); err != nil {
		return nil, err
	}
	q, err := d.site.open(req.Queue)
	if err != nil {
		return nil, err
	}
	p := &machine.Pull{Queue: q.ID, Slot: req.Slot, Most: max(1, req.Max), Only: req.Only, Pilot: req.Pilot, Node: req.Node, Devices: req.Devices,
		Nonce: newNonce()}
	if p.Request, err = requestOf(req); err != nil {
		return nil, err
	}
	spanned, end := traced(ctx, req.Queue, p)
	return &pulling{d, req.Queue, lease.Ask{Pull: p, Wait: max(0, time.Until(until))}, spanned, end}, nil
}

// outcome is what an answer means.
func (p *pulling) outcome(answer lease.Answer, err error) (PullReply, error) {
	err = outcome(answer, err)
	p.end(answer, err)
	if errors.Is(err, ErrUnavailable) && p.d.draining.Load() { // meanwhile
		err = ErrStopping
	}
	if errors.Is(err, ErrNoJobs) {
		if _, closed := p.d.site.open(p.queue); closed != nil { // meanwhile
			err = closed
		}
	}
	if err != nil {
		return PullReply{}, err
	}
	return p.reply(answer)
}

// reply is what the pilot needs to run the attempts. Leases whose jobs cannot be read are given back, unless a repeat can ask for them.
func (p *pulling) reply(answer lease.Answer) (PullReply, error) {
	d, leases := p.d, answer.Leases
	runs, err := d.cfg.Render(p.ctx, leases)
	if err == nil {
		err = d.addClaims(p.ctx, runs, answer.Seq)
	}
	if err != nil {
		if leases[0].Request == (entry.ID{}) {
			d.giveBack(leases)
		}
		return PullReply{}, fmt.Errorf("pull: %w", err)
	}
	reply := PullReply{Leases: make([]Lease, len(leases)), RenewAfter: d.cfg.RenewEvery.Seconds()}
	for i, l := range leases {
		run, key := &runs[i], lease.Key{Job: l.Job, Attempt: l.Attempt, Nonce: l.Nonce}
		reply.Leases[i] = Lease{Lease: tokenOf(key), Job: l.Job, Attempt: int(l.Attempt), Task: l.Task, Share: d.site.path(l.Share),
			Command: run.Command, Env: run.Env, Paths: run.Paths, Cores: run.Need.Cores, MemoryMB: run.Need.MemoryMB, DiskMB: run.Need.DiskMB,
			WalltimeS: run.Need.WalltimeS, ExpiresIn: d.cfg.Timing.First.Seconds()}
		if run.Image != "" {
			q, _ := d.site.queue(l.Queue)
			reply.Leases[i].Image, reply.Leases[i].Containers = run.Image, q.Containers
		}
	}
	d.meter.Count(d.site.waits(leases, runs))
	return reply, nil
}

// waits counts how long jobs waited that have their first lease.
func (s *site) waits(leases []machine.Lease, runs []Run) func(*tally.Tally) {
	now := time.Now()
	return func(t *tally.Tally) {
		for i, l := range leases {
			if since := runs[i].Submitted; !since.IsZero() {
				q, _ := s.queue(l.Queue)
				t.Wait(q.Pool, l.Share, now.Sub(since).Seconds())
			}
		}
	}
}

// claimsWithin bounds how long a pull waits until the machine of this daemon has the grant, which says where the claims of its jobs are.
const claimsWithin = 5 * time.Second

// addClaims tells jobs that hold claims where these are, and which devices they have. The claims are as of a batch that has the grants, or a
// later one: a lease keeps its claims where they are.
func (d *Dispatcher) addClaims(ctx context.Context, runs []Run, seq int64) error {
	if !slices.ContainsFunc(runs, func(r Run) bool { return len(r.Claims) > 0 }) {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, claimsWithin, ErrUnavailable)
	defer cancel()
	for !d.eye.has(ctx, seq) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(awaitFirst):
		}
	}
	return d.eye.machine(ctx, func(m *machine.Machine) {
		for i := range runs {
			runs[i].AddClaims(m.View().Claim)
		}
	})
}

// giveBack returns leases whose answer was not delivered.
func (d *Dispatcher) giveBack(leases []machine.Lease) {
	ends := make([]lease.End, len(leases))
	for i, l := range leases {
		ends[i] = lease.End{Key: lease.Key{Job: l.Job, Attempt: l.Attempt, Nonce: l.Nonce}, Outcome: entry.Returned}
	}
	d.loop.Tell(lease.Ask{Finish: ends}) // call 0: no caller waits for the answer
}

func (d *Dispatcher) ask(ctx context.Context, a lease.Ask) (lease.Answer, error) {
	out, err := d.loop.Ask(ctx, a)
	return out, outcome(out, err)
}

// outcome is how an ask came out that ended with err.
func outcome(a lease.Answer, err error) error {
	switch {
	case errors.Is(err, lease.ErrStopped):
		return ErrStopping
	case err != nil:
		return err
	}
	return status(a)
}

// checked refuses what is wrong about a request.
func checked(req PullRequest) (PullRequest, error) {
	var err error
	switch {
	case req.Queue == "":
		err = job.Wrong("queue", `""`, "the name of a queue")
	case req.Pilot == "":
		err = job.Wrong("pilot", `""`, "the name of the pilot")
	case req.Max < 0 || req.Max > 1000:
		err = job.Wrong("max", req.Max, "between 0 and 1000")
	case !(req.WaitS >= 0 && req.WaitS <= 300):
		err = job.Wrong("wait_s", req.WaitS, "between 0 and 300")
	case req.Slot.Cores > math.MaxInt32:
		err = job.Wrong("slot.cores", req.Slot.Cores, fmt.Sprintf("at most %d", math.MaxInt32))
	case req.Slot.Cores < 0 || req.Slot.MemoryMB < 0 || req.Slot.DiskMB < 0 || req.Slot.WalltimeS < 0:
		err = job.Wrong("slot", fmt.Sprintf("%+v", req.Slot), "a slot whose figures are 0 (not stated) or more")
	}
	if err != nil {
		return req, err
	}
	if err := checkTexts(&req); err != nil {
		return req, err
	}
	if err := req.Only.Check(); err != nil {
		return req, err
	}
	req.Only = req.Only.Tidy()
	return req, nil
}

// requestOf names a request by its queue, pilot and id, and by its body: see lease.Status Reused. How long it waits is not what it asks
// for: a pilot that leaves repeats with wait_s 0 to learn whether its pull was granted.
func requestOf(req PullRequest) (id entry.ID, err error) {
	if req.RequestID == "" {
		return id, nil
	}
	name := sha256.Sum256([]byte(req.Queue + "\x00" + req.Pilot + "\x00" + req.RequestID))
	req.WaitS = 0
	text, err := json.Marshal(req)
	if err != nil {
		return id, fmt.Errorf("pull: %w", err)
	}
	body := sha256.Sum256(text)
	copy(id[:12], name[:])
	copy(id[12:], body[:])
	return id, nil
}
