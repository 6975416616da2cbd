package pilots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/door"
	"github.com/divvyhq/divvy/internal/keys"
)

// How often it is asked again whether a pull that waits may go on. One question stands for all pulls of a credential.
const (
	askAgain   = time.Second      // of tokens of ours: a look into memory
	askOutside = 10 * time.Second // of credentials of others: signatures are verified anew now and then
	askWithin  = 5 * time.Second  // all questions of one round that need others
)

// waits are the pulls that may wait, by what let them in. What lets somebody in may be taken back while they do: then they end,
// before they are given what is not for them any more. A pull that waits costs no timer; one looks at all of them.
type waits struct {
	caller func(context.Context, access.Shown) (*access.Caller, error)
	ours   func(authorization string) *access.Caller

	mu    sync.Mutex
	all   map[waitsOf]*party
	timer *time.Timer // nil: nobody waits
}

func newWaits(e access.Entrance) *waits {
	return &waits{caller: e.Caller, ours: e.Ours, all: map[waitsOf]*party{}}
}

// waitsOf tells parties apart. Certificates of one owner are as good as each other, whatever connection they came by.
type waitsOf struct{ authorization, from string }

// party are the pulls that one credential has let in. waits and last are guarded by the lock.
type party struct {
	shown   access.Shown
	outside bool
	next    time.Time // not asked before; only look uses it
	last    *access.Caller
	waits   map[*wait]struct{}
}

// wait is one pull. A nil one is a pull that nobody looks after.
type wait struct {
	in    *waits
	of    *party
	queue string
	cut   func() // ends the pull's context
	over  error  // why it was cut; guarded by the lock
}

// takenBack is the error of a pull whose credential is not good any more.
type takenBack struct{ why error }

func (e *takenBack) Error() string { return e.why.Error() }

var errTakenBack = errors.New("the token was revoked or has run out while the pull waited")

// join has a pull looked after until it leaves; cut ends it before its time.
func (ws *waits) join(c *access.Caller, by access.Shown, queue string, cut func()) *wait {
	key := waitsOf{by.Authorization, c.From}
	w := &wait{in: ws, queue: queue, cut: cut}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	p := ws.all[key]
	if p == nil {
		key.authorization = strings.Clone(key.authorization) // the request's is not to be kept, see package door
		by.Authorization = key.authorization
		p = &party{shown: by, outside: ws.ours(key.authorization) == nil, waits: map[*wait]struct{}{}}
		p.next = time.Now().Add(askOutside)
		ws.all[key] = p
	}
	if p.last != c {
		p.last = nil // this one was let in as somebody else: it must be asked for itself
	}
	w.of = p
	p.waits[w] = struct{}{}
	if ws.timer == nil {
		ws.timer = time.AfterFunc(askAgain, ws.look)
	}
	return w
}

// leave ends the looking after; it may be repeated. The error says why the pull was cut, if it was.
func (w *wait) leave() error {
	if w == nil {
		return nil
	}
	w.in.mu.Lock()
	defer w.in.mu.Unlock()
	delete(w.of.waits, w)
	return w.over
}

// look asks for whom the credentials of all that wait stand now, those of ours first: they keep nobody waiting.
func (ws *waits) look() {
	now := time.Now()
	var ours, outside []*party
	ws.mu.Lock()
	for key, p := range ws.all {
		switch {
		case len(p.waits) == 0:
			delete(ws.all, key)
		case !p.outside:
			ours = append(ours, p)
		case !now.Before(p.next):
			p.next = now.Add(askOutside)
			outside = append(outside, p)
		}
	}
	ws.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), askWithin)
	defer cancel()
	for _, p := range append(ours, outside...) {
		c, why := ws.caller(ctx, p.shown)
		if unchecked := (keys.Unchecked{}); c == nil && errors.As(why, &unchecked) {
			continue // nobody has said that it is not good
		}
		ws.tell(p, c, why)
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if len(ws.all) == 0 {
		ws.timer = nil
		return
	}
	ws.timer.Reset(askAgain)
}

// tell ends the pulls of a party that may not go on as c; nil: nobody.
func (ws *waits) tell(p *party, c *access.Caller, why error) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if c != nil && c == p.last {
		return
	}
	p.last = c
	all := mayPull(c, why)
	for w := range p.waits {
		if w.over != nil {
			continue
		}
		if w.over = all; all == nil && !c.MayPull(w.queue) {
			w.over = notItsQueue(c, w.queue)
		}
		if w.over != nil {
			w.cut()
		}
	}
}

// mayPull says why c may not pull anywhere; nil: nobody, and why may say the reason.
func mayPull(c *access.Caller, why error) error {
	if c == nil {
		return &takenBack{cmp.Or(why, errTakenBack)}
	}
	if need := edge.RightOf(http.MethodPost, edge.PathPulls); !need.Has(c) {
		return need.Refuse(c)
	}
	return nil
}

func notItsQueue(c *access.Caller, queue string) error {
	return fmt.Errorf("%w: queue %q is not one at which %s may pull", problem.ErrNotYours, queue, c)
}

// wait has a pull that may wait looked after.
func (c *Calls) wait(w http.ResponseWriter, r *http.Request, queue string, t door.Term) *wait {
	x, ok := w.(*edge.Exchange)
	if !ok || x.Caller == nil || x.Caller == access.Anybody {
		return nil
	}
	return c.waits.join(x.Caller, access.ShownBy(r), queue, t.Cut)
}

// refuse is fail for a pull: one whose credential was taken back is told so as any request with such a one.
func (c *Calls) refuse(w http.ResponseWriter, err error) {
	var gone *takenBack
	if errors.As(err, &gone) {
		c.edge.Unknown(w, gone.why)
		return
	}
	c.edge.Fail(w, err)
}

// end is leave with the outcome of the pull. Leases that were granted go out in any case: their jobs are the pilot's already.
func (w *wait) end(rw http.ResponseWriter, err error) error {
	over := w.leave()
	if over == nil {
		return err
	}
	rw.Header()["Connection"] = []string{"close"} // it was cut with the pull
	if err == nil {
		return nil
	}
	return over
}
