package api

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/door"
)

// The three routes that pilots call all the time are plain handlers, decoded by hand: huma would parse each body
// twice. describe.go says the same things in the document, and a test holds both together.

// pull is POST /v1/pulls. One that may wait keeps no goroutine meanwhile.
func (s *server) pull(w http.ResponseWriter, r *http.Request) {
	if s.shed(w) {
		return
	}
	p := &pulling{s: s, w: w}
	defer p.over()
	req, body, err := decode(w, r, maxPull, readPull)
	release(body)
	if err == nil {
		err = checkPull(req)
	}
	if c := callerOf(w); err == nil && !c.MayPull(req.Queue) {
		err = notItsQueue(c, req.Queue)
	}
	if err != nil {
		s.fail(w, err)
		return
	}
	p.wait, p.began = req.WaitS, time.Now()
	within := s.timeout + time.Duration(req.WaitS*float64(time.Second))
	if req.WaitS > longWait {
		extend(w, within+slack)
	}
	ctx, term := door.Begin(r.Context(), within, s.timeout)
	if p.term = term; req.WaitS > 0 {
		p.waiting = s.wait(w, r, req.Queue, term)
	}
	if x := parker(w); x != nil && req.WaitS > 0 {
		leases, parked, err := s.dispatcher.PullOrPark(ctx, *req, func() func(func() (dispatcher.PullReply, error)) { return p.park(x) })
		if p.parked = parked; !parked {
			p.answer(leases, err)
		}
		return
	}
	leases, err := s.dispatcher.Pull(ctx, *req)
	p.answer(leases, err)
}

// pulling is a pull until it is answered.
type pulling struct {
	s       *server
	w       http.ResponseWriter
	wait    float64 // seconds
	began   time.Time
	term    door.Term
	waiting *wait // nil: nobody looks after it
	parked  bool
}

func (p *pulling) over() {
	if !p.parked {
		p.s.load.pulled()
		p.term.Stop()
		p.waiting.leave() //nolint:errcheck // end has asked for it, unless there was a panic
	}
}

// park leaves the pull open until it is told what comes of it.
func (p *pulling) park(x *exchange) func(outcome func() (dispatcher.PullReply, error)) {
	resume := x.park()
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
	if time.Since(p.began) > slack/100 {
		extendWrite(p.w, slack)
	}
	switch {
	case errors.Is(err, dispatcher.ErrNoJobs):
		p.w.Header()["Retry-After"] = []string{retryPull(p.wait)}
		p.w.WriteHeader(http.StatusNoContent)
	case err != nil:
		p.s.refuse(p.w, p.s.withQueues(err))
	default:
		answer(p.w, &leases, appendPull)
	}
}

// slack is what a deadline of the connection comes after that of the request, so that its 503 gets out.
const slack = 10 * time.Second

// longWait is the wait, in seconds, from which on the connection's deadlines are moved before it: the shorter ones
// end within the deadline for reading, and writing has no deadline until something is written.
const longWait = 30

// renew is POST /v1/leases/renew.
func (s *server) renew(w http.ResponseWriter, r *http.Request) {
	req, body, err := decode(w, r, maxBody, readRenew)
	release(body)
	if err == nil {
		err = checkRenew(req)
	}
	if err != nil {
		s.fail(w, err)
		return
	}
	defer s.load.end(s.load.begin())
	ctx, term := door.Begin(r.Context(), s.timeout, s.timeout)
	defer term.Stop()
	var kept dispatcher.RenewReply
	others, err := s.others(ctx, callerOf(w), len(req.Leases), func(i int) string { return req.Leases[i].Lease })
	if err == nil {
		req.Leases = slices.DeleteFunc(req.Leases, func(r dispatcher.Renewal) bool { return others[r.Lease] })
		kept, err = s.dispatcher.Renew(ctx, *req)
		kept.Lost = slices.AppendSeq(kept.Lost, maps.Keys(others))
	}
	if err = term.End(w, err); err != nil {
		s.fail(w, err)
		return
	}
	kept.Kept, kept.Lost, kept.Cancel = list(kept.Kept), list(kept.Lost), list(kept.Cancel)
	answer(w, &kept, appendRenew)
}

// finish is POST /v1/leases/finish.
func (s *server) finish(w http.ResponseWriter, r *http.Request) {
	req, body, err := decode(w, r, maxBody, readFinish)
	release(body)
	if err == nil {
		err = checkFinish(req)
	}
	if err != nil {
		s.fail(w, err)
		return
	}
	defer s.load.end(s.load.begin())
	ctx, term := door.Begin(r.Context(), s.timeout, s.timeout)
	defer term.Stop()
	var verdicts dispatcher.FinishReply
	others, err := s.others(ctx, callerOf(w), len(req.Results), func(i int) string { return req.Results[i].Lease })
	if err == nil {
		verdicts, err = s.finishBut(ctx, *req, others)
	}
	if err = term.End(w, err); err != nil {
		s.fail(w, err)
		return
	}
	verdicts.Verdicts = list(verdicts.Verdicts)
	answer(w, &verdicts, appendFinish)
}

// others are those of n leases that are at queues at which the caller may not pull: to it they are lost, and its own are served.
func (s *server) others(ctx context.Context, c *access.Caller, n int, lease func(i int) string) (map[string]bool, error) {
	if c.MayPull("") { // then at any
		return nil, nil
	}
	leases := make([]string, n)
	for i := range leases {
		leases[i] = lease(i)
	}
	at, err := s.dispatcher.LeaseQueues(ctx, leases)
	others := map[string]bool{}
	for l, queue := range at {
		if !c.MayPull(queue) {
			others[l] = true
		}
	}
	return others, err
}

// finishBut is Finish for all but some leases, which are lost.
func (s *server) finishBut(ctx context.Context, req dispatcher.FinishRequest, others map[string]bool) (dispatcher.FinishReply, error) {
	all := req.Results
	if len(others) > 0 {
		req.Results = slices.DeleteFunc(slices.Clone(all), func(r dispatcher.Result) bool { return others[r.Lease] })
	}
	reply, err := s.dispatcher.Finish(ctx, req)
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

// list makes an empty list of nil: the document says list, and null is none.
func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}
