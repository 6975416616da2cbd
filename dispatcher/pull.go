package dispatcher

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/divvyhq/divvy/dispatcher/job"
)

// pull is one PullRequest on its way.
type pull struct {
	req     PullRequest
	most    int
	class   string
	number  int64 // of the pulls that this daemon let into its line, from 1
	arrived time.Time
	until   time.Time // answer "none" from then on
	key     [16]byte  // of (queue, pilot, request id); zero without one
	hash    []byte    // of the body

	// Guarded by Dispatcher.mu until done is closed.
	grants  []*grant
	at      *list.Element // in its class
	retries int           // decisions that were put back since more could be had
	gone    bool          // answered, or the caller does not wait any more
	taken   bool          // a batch has it
	left    bool          // its caller went away while a batch had it
	over    bool          // its wait is over
	aside   bool          // its grant took nothing, and it is looked up before it is tried again
	recall  recall
	byNode  bool    // its class says its node
	among   *narrow // whose jobs it was last decided among; nil: all
	leases  []Lease
	err     error
	done    chan struct{}
	span    trace.Span // of this pull; nil: nobody traces it
}

// recall is whether it was looked up if the pull repeats one that was answered before.
type recall int

const (
	notRecalled recall = iota
	recalling
	recalled
)

// Pull gives the slot the jobs that it should run next. It waits up to req.WaitS for one and returns ErrNoJobs
// when there was none, ErrUnknownQueue, ErrQueueClosed, a *FieldError, ErrRequestReused, ErrRequestOver,
// ErrStopping, or an error for which pg.IsUnavailable is true: then it is unknown whether a job was leased, and
// a repeat with the same request id tells.
func (d *Dispatcher) Pull(ctx context.Context, req PullRequest) (PullReply, error) {
	p, err := newPull(req)
	if err != nil {
		return PullReply{}, err
	}
	reply, err := d.pull(p.begin(ctx), p)
	p.end(err)
	return reply, err
}

func (d *Dispatcher) pull(ctx context.Context, p *pull) (PullReply, error) {
	for {
		first, err := d.admit(p)
		if err != nil {
			return PullReply{}, err
		}
		if first == p {
			break
		}
		// The same request is being served: wait for its answer and share it.
		select {
		case <-first.done:
		case <-ctx.Done():
			return PullReply{}, ctx.Err()
		}
		switch {
		case len(first.leases) > 0:
			return d.reply(first.leases), nil
		case errors.Is(first.err, ErrNoJobs) && !time.Now().Before(p.until):
			return PullReply{}, ErrNoJobs
		}
		// It was refused for a reason of its own, or its caller left: this one asks again.
	}
	d.kick()
	if err := d.await(ctx, p); err != nil {
		return PullReply{}, err
	}
	if p.err != nil {
		return PullReply{}, p.err
	}
	return d.reply(p.leases), nil
}

func newPull(req PullRequest) (*pull, error) {
	switch {
	case req.Queue == "":
		return nil, job.Wrong("queue", `""`, "the name of a queue")
	case req.Pilot == "":
		return nil, job.Wrong("pilot", `""`, "the name of the pilot")
	case req.Max < 0 || req.Max > 1000:
		return nil, job.Wrong("max", req.Max, "between 0 and 1000")
	case req.WaitS < 0 || req.WaitS > 300:
		return nil, job.Wrong("wait_s", req.WaitS, "between 0 and 300")
	case req.Slot.Cores > math.MaxInt32:
		return nil, job.Wrong("slot.cores", req.Slot.Cores, fmt.Sprintf("at most %d", math.MaxInt32))
	case req.Slot.Cores < 0 || req.Slot.MemoryMB < 0 || req.Slot.DiskMB < 0 || req.Slot.WalltimeS < 0:
		return nil, job.Wrong("slot", fmt.Sprintf("%+v", req.Slot), "a slot whose figures are 0 (not stated) or more")
	}
	if err := checkTexts(&req); err != nil {
		return nil, err
	}
	if err := req.Only.Check(); err != nil {
		return nil, err
	}
	req.Only = req.Only.Tidy()
	p := &pull{req: req, most: max(1, req.Max), done: make(chan struct{}), arrived: time.Now()}
	p.until = p.arrived.Add(time.Duration(req.WaitS * float64(time.Second)))
	p.class = classOf(req)
	if req.RequestID != "" {
		sum := sha256.Sum256([]byte(req.Queue + "\x00" + req.Pilot + "\x00" + req.RequestID))
		copy(p.key[:], sum[:])
		// How long it waits is not what it asks for: a pilot that leaves repeats with wait_s 0 to learn whether
		// its pull was granted.
		asked := req
		asked.WaitS = 0
		body, err := json.Marshal(asked)
		if err != nil {
			return nil, fmt.Errorf("pull: %w", err)
		}
		hash := sha256.Sum256(body)
		p.hash = hash[:8]
	}
	return p, nil
}

// classOf names what a decision depends on: when it is "none" for one pull of a class, it is so for all.
func classOf(req PullRequest) string {
	s := req.Slot
	if req.Only.None() && len(s.Labels) == 0 && s.MemoryMB == 0 && s.DiskMB == 0 && s.WalltimeS == 0 && s.Cores == 1 {
		return req.Queue // the usual one
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d %d %d %d", req.Queue, s.Cores, s.MemoryMB, s.DiskMB, s.WalltimeS)
	for _, name := range slices.Sorted(maps.Keys(s.Labels)) {
		fmt.Fprintf(&b, " %q=%q", name, s.Labels[name])
	}
	if !req.Only.None() {
		fmt.Fprintf(&b, " only %q %d %q", req.Only.Labels, req.Only.Task, req.Only.User)
	}
	return b.String()
}

// labels of the slot: those of its queue, with its own over them.
func (p *pull) labels(q *queue) map[string]string {
	all := maps.Clone(q.Labels)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, p.req.Slot.Labels)
	return all
}

// admit puts the pull in line, or returns the pull that serves the same request id already.
func (d *Dispatcher) admit(p *pull) (*pull, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopping {
		return nil, ErrStopping
	}
	q := d.state.byName[p.req.Queue]
	if q == nil {
		return nil, fmt.Errorf("%w %q: the site has %s", ErrUnknownQueue, p.req.Queue, d.state.queueNames())
	}
	if d.state.claims.shapes > 0 {
		p.class += p.nodeClass()
		p.byNode = true
	}
	if p.hash != nil {
		if first := d.requests[p.key]; first != nil {
			if string(first.hash) != string(p.hash) {
				return nil, ErrRequestReused
			}
			return first, nil
		}
		d.requests[p.key] = p
	}
	asks := seen{at: time.Now(), unfilled: job.RoomOf(p.req.Slot, q.Queue).Offered(q.Queue, p.most), node: p.req.Node, devices: p.req.Devices}
	if !p.req.Only.None() {
		asks.only = &p.req.Only
	}
	known := q.asked()
	if q.sees(p.req.Pilot, asks); !known {
		d.state.pilotsAt(q, true)
	}
	d.nPulls++
	p.number = d.nPulls
	d.line.add(d, p)
	return p, nil
}

// timers that stand still; a stopped one has nothing left in its channel. A new one for each pull is a tenth of all that
// a grant allocates.
var timers = sync.Pool{New: func() any { return time.NewTimer(0) }}

// await waits until the pull is answered. When the wait is over while a decision needs the database, it goes on
// until that is known: "none" is never said because something was slow.
func (d *Dispatcher) await(ctx context.Context, p *pull) error {
	timer := timers.Get().(*time.Timer)
	timer.Reset(p.until.Sub(p.arrived)) // it starts a moment later: what it waits for is no less
	defer func() {
		timer.Stop()
		timers.Put(timer)
	}()
	over := false
	for {
		select {
		case <-p.done:
			return nil
		case <-timer.C:
			if over {
				if d.leave(p) {
					return errSlow
				}
				continue // a batch has it: it ends soon, one way or the other
			}
			over = true
			timer.Reset(d.cfg.Timing.Patience)
			d.mu.Lock()
			d.line.expire(d, p)
			d.mu.Unlock()
		case <-ctx.Done():
			if d.leave(p) {
				return ctx.Err()
			}
			<-p.done // a batch has it: it ends soon, one way or the other
			return d.returnUnheard(ctx, p)
		}
	}
}

// leave takes the pull out of the line; false when a batch has it already.
func (d *Dispatcher) leave(p *pull) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.taken {
		p.left = true
		return false
	}
	if !p.gone {
		p.gone = true
		close(p.done) // a repeat of the request that waits for this one takes its place
	}
	d.line.remove(p)
	d.forget(p)
	return true
}

// finishPull answers a pull. d.mu is held.
func (d *Dispatcher) finishPull(p *pull, leases []Lease, err error) {
	if p.gone {
		return
	}
	p.gone, p.leases, p.err = true, leases, err
	d.forget(p)
	close(p.done)
}

func (d *Dispatcher) forget(p *pull) {
	if p.hash != nil && d.requests[p.key] == p {
		delete(d.requests, p.key)
	}
}

func (d *Dispatcher) reply(leases []Lease) PullReply {
	return PullReply{Leases: leases, RenewAfter: d.cfg.Timing.RenewEvery.Seconds()}
}

// returnUnheard gives back what a caller that went away was granted, unless it can ask again by its request id.
func (d *Dispatcher) returnUnheard(ctx context.Context, p *pull) error {
	if p.hash == nil && len(p.leases) > 0 {
		var ends []ended
		for _, l := range p.leases {
			if key, ok := parseLease(l.Lease); ok {
				ends = append(ends, ended{key: key, outcome: Revoked, message: "the pull's caller had gone"})
			}
		}
		_, _ = d.end(context.WithoutCancel(ctx), ends) // else they end by themselves
	}
	return ctx.Err()
}

// queueNames lists the queues for an error message.
func (s *state) queueNames() string {
	if len(s.byName) == 0 {
		return "no queues"
	}
	names := slices.Sorted(maps.Keys(s.byName))
	if len(names) > 10 {
		names = append(names[:10], "…")
	}
	return strings.Join(names, ", ")
}
