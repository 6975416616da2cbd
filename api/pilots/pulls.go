package pilots

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/door"
)

// Calls are the four routes: plain handlers, since huma would parse each body twice. The document says the same things, and a
// test holds both together.
type Calls struct {
	edge       *edge.Edge
	dispatcher Dispatcher
	load       *Load
	waits      *waits
	timeout    time.Duration
	hint       func(error) error // adds to an error of a pull what helps

	// Outputs takes what attempts write. It is set before the first request.
	Outputs Outputs
}

// Dispatcher is what pilots ask of the dispatcher.
type Dispatcher interface {
	Pull(context.Context, dispatcher.PullRequest) (dispatcher.PullReply, error)
	PullOrPark(ctx context.Context, req dispatcher.PullRequest, park func() (then func(outcome func() (dispatcher.PullReply, error)))) (
		reply dispatcher.PullReply, parked bool, err error)
	Renew(context.Context, dispatcher.RenewRequest) (dispatcher.RenewReply, error)
	// LeaseQueues are the queues at which leases are, by lease; those that are over have no entry.
	LeaseQueues(ctx context.Context, leases []string) (map[string]string, error)
	Finish(context.Context, dispatcher.FinishRequest) (dispatcher.FinishReply, error)
}

// New are the routes of pilots behind an edge, which the entrance lets in. timeout bounds a request without its long poll.
func New(e *edge.Edge, entrance access.Entrance, d Dispatcher, l *Load, timeout time.Duration, hint func(error) error) *Calls {
	return &Calls{edge: e, dispatcher: d, load: l, waits: newWaits(entrance), timeout: timeout, hint: hint}
}

// Routes are the handlers by the path that they are POSTed to.
func (c *Calls) Routes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{edge.PathPulls: c.pull, edge.PathRenew: c.renew, edge.PathFinish: c.finish, edge.PathOutput: c.output}
}

// pull is POST /v1/pulls. One that may wait keeps no goroutine meanwhile.
func (c *Calls) pull(w http.ResponseWriter, r *http.Request) {
	if err := c.load.Pull(); err != nil {
		c.edge.Fail(w, err)
		return
	}
	p := &pulling{Calls: c, w: w}
	defer p.over()
	req, err := decode[dispatcher.PullRequest](w, r, MaxPull)
	if err == nil {
		err = checkPull(req)
	}
	if who := edge.CallerOf(w); err == nil && !who.MayPull(req.Queue) {
		err = notItsQueue(who, req.Queue)
	}
	if err != nil {
		c.edge.Fail(w, err)
		return
	}
	p.wait, p.began = req.WaitS, time.Now()
	within := c.timeout + time.Duration(req.WaitS*float64(time.Second))
	if req.WaitS > longWait {
		edge.Extend(w, within+edge.Slack)
	}
	ctx, term := door.Begin(r.Context(), within, c.timeout)
	if p.term = term; req.WaitS > 0 {
		p.waiting = c.wait(w, r, req.Queue, term)
	}
	if x := edge.Parker(w); x != nil && req.WaitS > 0 {
		leases, parked, err := c.dispatcher.PullOrPark(ctx, *req, func() func(func() (dispatcher.PullReply, error)) { return p.park(x) })
		if p.parked = parked; !parked {
			p.answer(leases, err)
		}
		return
	}
	leases, err := c.dispatcher.Pull(ctx, *req)
	p.answer(leases, err)
}

// pulling is a pull until it is answered.
type pulling struct {
	Calls   *Calls
	w       http.ResponseWriter
	wait    float64 // seconds
	began   time.Time
	term    door.Term
	waiting *wait // nil: nobody looks after it
	parked  bool
}

func (p *pulling) over() {
	if !p.parked {
		p.Calls.load.Pulled()
		p.term.Stop()
		p.waiting.leave() //nolint:errcheck // end has asked for it, unless there was a panic
	}
}

// park leaves the pull open until it is told what comes of it.
func (p *pulling) park(x *edge.Exchange) func(outcome func() (dispatcher.PullReply, error)) {
	resume := x.Park()
	return func(outcome func() (dispatcher.PullReply, error)) {
		resume(func() {
			p.parked = false
			defer p.over()
			p.answer(outcome())
		})
	}
}

func (p *pulling) answer(leases dispatcher.PullReply, err error) {
	err = p.term.End(p.w, p.waiting.end(p.w, err))
	if time.Since(p.began) > edge.Slack/100 {
		edge.ExtendWrite(p.w, edge.Slack)
	}
	switch {
	case errors.Is(err, dispatcher.ErrNoJobs):
		p.w.Header()["Retry-After"] = []string{retryPull(p.wait)}
		p.w.WriteHeader(http.StatusNoContent)
	case err != nil:
		p.Calls.refuse(p.w, p.Calls.hint(err))
	default:
		edge.Reply(p.w, &leases)
	}
}

// longWait is the wait, in seconds, from which on the connection's deadlines are moved before it: the shorter ones
// end within the deadline for reading, and writing has no deadline until something is written.
const longWait = 30

// renew is POST /v1/leases/renew.
func (c *Calls) renew(w http.ResponseWriter, r *http.Request) {
	req, err := decode[dispatcher.RenewRequest](w, r, edge.MaxBody)
	if err == nil {
		err = checkRenew(req)
	}
	if err != nil {
		c.edge.Fail(w, err)
		return
	}
	defer c.load.End(c.load.Begin())
	ctx, term := door.Begin(r.Context(), c.timeout, c.timeout)
	defer term.Stop()
	var kept dispatcher.RenewReply
	others, err := c.others(ctx, edge.CallerOf(w), len(req.Leases), func(i int) string { return req.Leases[i].Lease })
	if err == nil {
		req.Leases = slices.DeleteFunc(req.Leases, func(r dispatcher.Renewal) bool { return others[r.Lease] })
		kept, err = c.dispatcher.Renew(ctx, *req)
		kept.Lost = slices.AppendSeq(kept.Lost, maps.Keys(others))
	}
	if err = term.End(w, err); err != nil {
		c.edge.Fail(w, err)
		return
	}
	kept.Kept, kept.Lost, kept.Cancel = edge.List(kept.Kept), edge.List(kept.Lost), edge.List(kept.Cancel)
	edge.Reply(w, &kept)
}

// finish is POST /v1/leases/finish.
func (c *Calls) finish(w http.ResponseWriter, r *http.Request) {
	req, err := decode[dispatcher.FinishRequest](w, r, edge.MaxBody)
	if err == nil {
		err = checkFinish(req)
	}
	if err != nil {
		c.edge.Fail(w, err)
		return
	}
	defer c.load.End(c.load.Begin())
	ctx, term := door.Begin(r.Context(), c.timeout, c.timeout)
	defer term.Stop()
	var verdicts dispatcher.FinishReply
	others, err := c.others(ctx, edge.CallerOf(w), len(req.Results), func(i int) string { return req.Results[i].Lease })
	if err == nil {
		verdicts, err = c.finishBut(ctx, *req, others)
	}
	if err = term.End(w, err); err != nil {
		c.edge.Fail(w, err)
		return
	}
	verdicts.Verdicts = edge.List(verdicts.Verdicts)
	edge.Reply(w, &verdicts)
}

// others are those of n leases that are at queues at which the caller may not pull: to it they are lost, and its own are served.
func (c *Calls) others(ctx context.Context, who *access.Caller, n int, lease func(i int) string) (map[string]bool, error) {
	if who.MayPull("") { // then at any
		return nil, nil
	}
	leases := make([]string, n)
	for i := range leases {
		leases[i] = lease(i)
	}
	at, err := c.dispatcher.LeaseQueues(ctx, leases)
	others := map[string]bool{}
	for l, queue := range at {
		if !who.MayPull(queue) {
			others[l] = true
		}
	}
	return others, err
}

// finishBut is Finish for all but some leases, which are lost.
func (c *Calls) finishBut(ctx context.Context, req dispatcher.FinishRequest, others map[string]bool) (dispatcher.FinishReply, error) {
	all := req.Results
	if len(others) > 0 {
		req.Results = slices.DeleteFunc(slices.Clone(all), func(r dispatcher.Result) bool { return others[r.Lease] })
	}
	reply, err := c.dispatcher.Finish(ctx, req)
	if err != nil || len(others) == 0 {
		return reply, err
	}
	verdicts := make([]dispatcher.Verdict, 0, len(all))
	for _, r := range all {
		if others[r.Lease] {
			verdicts = append(verdicts, dispatcher.Verdict{Lease: r.Lease, Verdict: dispatcher.LeaseLost})
		} else {
			verdicts, reply.Verdicts = append(verdicts, reply.Verdicts[0]), reply.Verdicts[1:]
		}
	}
	return dispatcher.FinishReply{Verdicts: verdicts}, nil
}

// retryPull is the Retry-After of a 204: who waited in the long poll comes back at once, who only looks, later.
// Spread out, so that pilots that started together don't stay together.
func retryPull(waited float64) string {
	if waited >= 1 {
		return strconv.Itoa(1 + rand.IntN(2))
	}
	return strconv.Itoa(3 + rand.IntN(4))
}
