package pilot

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	outputs "github.com/divvyhq/divvy/internal/live"
)

const (
	starting wire.LeaseState = "starting"
	running  wire.LeaseState = "running"
	draining wire.LeaseState = "draining"

	finished  wire.Outcome = "finished"
	failed    wire.Outcome = "failed"
	cancelled wire.Outcome = "cancelled"
)

// fake is a server in memory, as strict about request ids and leases as the real one.
type fake struct {
	mu       sync.Mutex
	changed  chan struct{} // closed and renewed at every change
	ready    []wire.Lease
	live     map[string]wire.Lease
	asked    map[string]wire.PullRequest
	gave     map[string][]wire.Lease
	pulls    []wire.PullRequest
	renewals []wire.RenewRequest
	batches  [][]wire.Result
	results  map[string]wire.Result
	late     []wire.Result // came for a lease that was not there
	cancels  map[string]wire.CancelOrder
	waiting  int // long polls
	held     int // finishes that hold answers late
	nTokens  int

	down      bool
	loseReply int                    // so many grants are made and their replies lost
	holdPull  chan struct{}          // a granted pull answers only when this is closed, or its context ends
	hold      chan struct{}          // a finish answers only when this is closed
	refuse    func(wire.Result) bool // results that cannot be taken
	pullError func() error           // instead of an answer
	renewS    float64
	noOutput  error // of calls about output
	outputs   *outputs.Outputs
	nOutputs  int // calls about output
}

// trouble is an error answer as api/client has them.
type trouble struct {
	status int
	code   string
	after  time.Duration
}

func (e *trouble) Error() string             { return fmt.Sprintf("%d %s", e.status, e.code) }
func (e *trouble) HTTPStatus() int           { return e.status }
func (e *trouble) ErrorCode() string         { return e.code }
func (e *trouble) RetryAfter() time.Duration { return e.after }

var errAway = errors.New("connection refused")

func newFake() *fake {
	return &fake{
		changed: make(chan struct{}), live: map[string]wire.Lease{}, asked: map[string]wire.PullRequest{},
		gave: map[string][]wire.Lease{}, results: map[string]wire.Result{}, cancels: map[string]wire.CancelOrder{}, renewS: 0.05, outputs: outputs.New(outputs.Limits{}),
	}
}

// change applies f and wakes whoever waits.
func (s *fake) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// add makes jobs ready and returns their tokens.
func (s *fake) add(jobs ...wire.Lease) (tokens []string) {
	s.change(func() {
		for _, l := range jobs {
			s.nTokens++
			l.Job, l.Lease = int64(s.nTokens), fmt.Sprintf("lease-%d", s.nTokens)
			l.Attempt, l.Task, l.Share = max(1, l.Attempt), 7, "Production/MC"
			s.ready = append(s.ready, l)
			tokens = append(tokens, l.Lease)
		}
	})
	return tokens
}

func shell(script string) wire.Lease { return wire.Lease{Command: []string{"sh", "-c", script}} }

func (s *fake) Pull(ctx context.Context, req wire.PullRequest) (wire.PullReply, error) {
	leases, hold, err := s.pull(ctx, req)
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return wire.PullReply{}, ctx.Err()
		}
	}
	return wire.PullReply{Leases: leases, RenewAfter: s.renewS}, err
}

func (s *fake) pull(ctx context.Context, req wire.PullRequest) ([]wire.Lease, chan struct{}, error) {
	deadline := time.NewTimer(seconds(req.WaitS))
	defer deadline.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pulls = append(s.pulls, req)
	for {
		if s.down {
			return nil, nil, errAway
		}
		if s.pullError != nil {
			return nil, nil, s.pullError()
		}
		if before, ok := s.asked[req.RequestID]; ok {
			if !reflect.DeepEqual(before, req) {
				return nil, nil, &trouble{status: 422, code: "request_reused"}
			}
			left := slices.DeleteFunc(slices.Clone(s.gave[req.RequestID]), func(l wire.Lease) bool { _, ok := s.live[l.Lease]; return !ok })
			if len(left) == 0 {
				return nil, nil, &trouble{status: 409, code: "request_over"}
			}
			return left, nil, nil
		}
		if leases := s.take(req); len(leases) > 0 {
			s.asked[req.RequestID], s.gave[req.RequestID] = req, leases
			if s.loseReply > 0 {
				s.loseReply--
				return nil, nil, errAway
			}
			return leases, s.holdPull, nil
		}
		changed := s.changed
		s.waiting++
		s.mu.Unlock()
		over := false
		select {
		case <-changed:
		case <-deadline.C:
			over = true
		case <-ctx.Done():
		}
		s.mu.Lock()
		s.waiting--
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if over {
			return nil, nil, &trouble{status: http.StatusNoContent, after: time.Second}
		}
	}
}

// take leases what fits into the slot, in order.
func (s *fake) take(req wire.PullRequest) (got []wire.Lease) {
	cores := req.Slot.Cores
	s.ready = slices.DeleteFunc(s.ready, func(l wire.Lease) bool {
		if len(got) >= req.Max || max(1, l.Cores) > cores {
			return false
		}
		cores -= max(1, l.Cores)
		got = append(got, l)
		s.live[l.Lease] = l
		return true
	})
	return got
}

func (s *fake) Renew(_ context.Context, req wire.RenewRequest) (reply wire.RenewReply, err error) {
	s.change(func() {
		if s.down {
			err = errAway
			return
		}
		s.renewals = append(s.renewals, req)
		for _, l := range req.Leases {
			if _, ok := s.live[l.Lease]; !ok {
				reply.Lost = append(reply.Lost, l.Lease)
				continue
			}
			reply.Kept = append(reply.Kept, l.Lease)
			if c, ok := s.cancels[l.Lease]; ok {
				reply.Cancel = append(reply.Cancel, c)
			}
		}
		reply.RenewAfter = s.renewS
	})
	return reply, err
}

func (s *fake) Finish(ctx context.Context, req wire.FinishRequest) (reply wire.FinishReply, err error) {
	s.mu.Lock()
	hold := s.hold
	if hold != nil {
		s.held++
	}
	s.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return reply, ctx.Err()
		}
	}
	s.change(func() {
		if s.down {
			err = errAway
			return
		}
		if s.refuse != nil && slices.ContainsFunc(req.Results, s.refuse) {
			err = &trouble{status: 422, code: "invalid"}
			return
		}
		s.batches = append(s.batches, req.Results)
		for _, r := range req.Results {
			v := wire.Verdict{Lease: r.Lease, Verdict: "recorded"}
			if _, ok := s.live[r.Lease]; ok {
				s.results[r.Lease] = r
				delete(s.live, r.Lease)
			} else if _, ok := s.results[r.Lease]; !ok {
				s.late = append(s.late, r)
				v.Verdict = "lease_lost"
			}
			reply.Verdicts = append(reply.Verdicts, v)
		}
	})
	return reply, err
}

// Output keeps what is wanted as the daemon does.
func (s *fake) Output(ctx context.Context, req wire.OutputReport) (wire.OutputReply, error) {
	s.mu.Lock()
	s.nOutputs++
	down, refused, outs := s.down, s.noOutput, s.outputs
	var chunks []outputs.Chunk
	for _, c := range req.Chunks {
		key := outputs.Key{Attempt: 1}
		_, _ = fmt.Sscanf(c.Lease, "lease-%d", &key.Job)
		_, runs := s.live[c.Lease]
		chunks = append(chunks, outputs.Chunk{Key: key, Runs: runs, OutputChunk: outputs.OutputChunk{
			Lease: c.Lease, Stream: outputs.Stream(c.Stream), Wanted: c.Wanted, Offset: c.Offset, Data: c.Data, End: c.End}})
	}
	s.mu.Unlock()
	switch {
	case down:
		return wire.OutputReply{}, errAway
	case refused != nil:
		return wire.OutputReply{}, refused
	}
	var reply wire.OutputReply
	for _, w := range outs.Wait(ctx, req.Pilot, chunks, seconds(req.WaitS)) {
		reply.Wanted = append(reply.Wanted, wire.OutputWanted{Job: w.Job, Attempt: w.Attempt, Stream: string(w.Stream), From: w.From})
	}
	return reply, ctx.Err()
}
