package sim

import (
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// host is a machine on which a daemon runs, one after the other.
type host struct {
	*world
	no       int
	daemon   int64 // of this start
	core     Core  // nil: it is down
	inbox    []lease.Event
	due      bool // a step is coming
	calls    map[uint64]func(lease.Answer)
	number   uint64
	wakes    uint64
	paused   int      // faults that hold it
	compared entry.ID // the batch at which its state was last found right
	freeze   bool
	idle     int            // steps for nothing, one after the other
	midst    int            // it crashes with its next effects, of which one less leave; 0: it does not
	frozen   []lease.Effect // held back between a step and its effects

	rate   float64 // of its clock
	offset time.Duration

	cutPeers, cutLog, cutCalls int
}

// local is the time of the daemon's monotonic clock.
func (h *host) local() time.Duration {
	return h.offset + time.Hour + time.Duration(float64(h.now)*h.rate)
}

// start starts a daemon.
func (h *host) start() {
	h.daemons++
	h.daemon = h.daemons
	h.say("host %d starts daemon %d", h.no, h.daemon)
	h.compared = entry.ID{}
	h.calls, h.inbox, h.frozen, h.due = map[uint64]func(lease.Answer){}, nil, nil, false
	h.core = h.wiring.Core(lease.Config{
		Daemon: h.daemon, Address: "host", Draw: h.id,
		Timing: lease.Timing{TTL: h.plan.ttl(), Grace: grace, Stopped: stopped},
		End:    h.end, Alone: h.alone, Queue: h.queueOf, Polled: polled,
	})
	for _, o := range h.hosts {
		o.tellPeers()
	}
}

// queueOf finds a queue: all versions of the site have the same.
func (h *host) queueOf(id shares.QueueID) (shares.Queue, bool) {
	q := h.sites[0].Queue(id)
	return q, q.ID == id
}

// polled are the queues at which pilots pull, as the log says.
func polled(m lease.Machine) (list []shares.QueueID) {
	mm := inside(m)
	if mm == nil {
		return nil
	}
	v := mm.View()
	for _, q := range v.Site.Queues {
		if v.Queue(q.ID).Polled {
			list = append(list, q.ID)
		}
	}
	return list
}

// inside is the machine that is wrapped, or not; nil: it is another one.
func inside(m lease.Machine) *machine.Machine {
	for {
		switch of := m.(type) {
		case *machine.Machine:
			return of
		case *applying:
			m = of.Machine
		case *generous:
			m = of.Machine
		case *forgetful:
			m = of.Machine
		case *amnesiac:
			m = of.Machine
		default:
			return nil
		}
	}
}

// alone says that no other daemon is open. One that is held is.
func (h *host) alone() bool {
	return !slices.ContainsFunc(h.hosts, func(o *host) bool { return o != h && o.core != nil })
}

// end is the retry policy, which also shows when a daemon decides that a lease is lost.
func (h *host) end(l machine.Lease, e entry.Ended) entry.Ended {
	if e.Outcome == entry.Lost {
		h.truth.decided[lease.Key{Job: l.Job, Attempt: l.Attempt, Nonce: l.Nonce}] = h.now
	}
	return h.plan.retried(l, e)
}

// stop ends the daemon at once.
func (h *host) stop() {
	if h.core == nil {
		return
	}
	h.say("host %d: daemon %d is gone", h.no, h.daemon)
	h.core, h.inbox, h.calls, h.frozen, h.freeze, h.midst = nil, nil, nil, nil, false, 0
	for _, o := range h.hosts {
		o.tellPeers()
	}
}

// tellPeers tells the daemon who else there is.
func (h *host) tellPeers() {
	var peers []int64
	for _, o := range h.hosts {
		if o != h && o.core != nil {
			peers = append(peers, o.daemon)
		}
	}
	h.tell(lease.Peers{Daemons: peers})
}

// tell gives the daemon an event. Several that come together are one step.
func (h *host) tell(e lease.Event) {
	if h.core == nil {
		return
	}
	h.inbox = append(h.inbox, e)
	h.arouse()
}

// tellAs gives it to a daemon if that is still the one that runs.
func (h *host) tellAs(daemon int64, e lease.Event) {
	if h.daemon == daemon {
		h.tell(e)
	}
}

// arouse has the daemon make a step soon.
func (h *host) arouse() {
	if h.due || h.paused > 0 || h.core == nil {
		return
	}
	h.due = true
	daemon := h.daemon
	h.after(upTo(h.delays, 100*time.Microsecond), func() {
		if h.daemon == daemon {
			h.due = false
			h.step()
		}
	})
}

func (h *host) step() {
	if h.core == nil || h.paused > 0 {
		return
	}
	h.steps++
	events := h.inbox
	h.inbox = nil
	led := h.core.Leads()
	effects := h.attempt(events)
	h.note(uint64(h.no), uint64(len(events)), uint64(len(effects)))
	h.rests(events, effects)
	if h.core.Leads() != led {
		h.say("daemon %d leads: %v", h.daemon, !led)
		h.seen.Leads++
	}
	if h.freeze {
		h.freeze, h.frozen = false, effects
		h.paused++ // the fault that froze it takes it off
		return
	}
	if h.midst > 0 && len(effects) > 1 {
		h.effect(effects[:min(h.midst-1, len(effects))])
		h.stop()
		return
	}
	h.effect(effects)
	if h.steps%4 == 0 {
		h.compare()
	}
}

// mostIdle bounds how many steps a daemon makes at once that begin with nothing and bring nothing.
const mostIdle = 20

// rests judges whether a daemon that has nothing to do waits until something happens, or until a time that is to come.
func (h *host) rests(events []lease.Event, effects []lease.Effect) {
	h.idle++
	if len(events) > 0 || len(effects) > 1 {
		h.idle = 0
	} else if w, ok := effects[0].(lease.Wake); !ok || w.At > h.local() {
		h.idle = 0
	}
	if h.idle > mostIdle {
		h.violate("daemon %d makes %d steps for nothing, one after the other", h.daemon, h.idle)
	}
}

// attempt is a step of the daemon. A panic is a violation like others, so that it is shrunk and told.
func (h *host) attempt(events []lease.Event) (effects []lease.Effect) {
	defer func() {
		if r := recover(); r != nil {
			h.violate("daemon %d panics: %v", h.daemon, r)
		}
	}()
	return h.core.Step(h.local(), events...)
}

// effect does what the daemon wants done.
func (h *host) effect(effects []lease.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case lease.Append:
			h.say("daemon %d appends %d with rows %v %v: %v", h.daemon, e.Batch.Seq, e.Beside.Rows, e.Beside.Refused, e.Batch.Entries)
			h.appendFor(h, e)
		case lease.Read:
			h.readFor(h, e.After)
		case lease.Reload:
			h.say("daemon %d reloads", h.daemon)
			h.seen.Reloads++
			h.reloadFor(h)
		case lease.Gather:
			h.gatherFor(h, e.Number)
		case lease.Look:
			h.lookFor(h, e)
		case lease.Reply:
			if answer := h.calls[e.Answer.Call.Number]; answer != nil {
				delete(h.calls, e.Answer.Call.Number)
				answer(e.Answer)
			}
		case lease.Send:
			h.post(h, e)
		case lease.Wake:
			h.wakeAt(e.At)
		case lease.Broken:
			h.violate("daemon %d: batch %d does not fit its machine: %v", h.daemon, e.Seq, e.Err)
		}
	}
}

func (h *host) wakeAt(at time.Duration) {
	h.wakes++
	no, daemon := h.wakes, h.daemon
	h.after(time.Duration(float64(at-h.local())/h.rate)+time.Microsecond, func() {
		if h.wakes == no && h.daemon == daemon {
			h.arouse()
		}
	})
}

// resume lets a daemon go on that was held.
func (h *host) resume() {
	h.paused, h.freeze = 0, false
	effects := h.frozen
	h.frozen = nil
	h.effect(effects)
	h.arouse()
}

// compare holds the daemon's state against that of the log.
func (h *host) compare() {
	if h.core == nil {
		return
	}
	m, settled := h.core.Machine()
	if m == nil || !settled {
		return
	}
	seq, id := m.Stand()
	if id != h.truth.id() || id == h.compared {
		return
	}
	if h.compared = id; m.Digest() != h.truth.digest() {
		h.violate("daemon %d has another state than the log at batch %d", h.daemon, seq)
	}
}

// fault lets something go wrong.
func (w *world) fault(f Fault) {
	h := w.hosts[max(0, f.Daemon)]
	if f.Daemon < 0 {
		if i := slices.IndexFunc(w.hosts, func(h *host) bool { return h.core != nil && h.core.Leads() }); i >= 0 {
			h = w.hosts[i]
		}
	}
	w.say("fault: %+v at host %d", f, h.no)
	undo := func(count *int) {
		*count++
		w.after(f.For, func() { *count = max(0, *count-1) })
	}
	switch f.Kind {
	case Crash:
		h.stop()
		w.after(f.For, h.startAgain)
	case Midst:
		h.midst = f.Amount
		w.after(f.For, func() {
			h.midst = 0
			h.startAgain()
		})
	case Pause, Freeze:
		if f.Kind == Freeze {
			h.freeze = true
		} else {
			h.paused++
		}
		w.after(f.For, h.resume)
	case Drain:
		h.tell(lease.Drain{})
		w.after(min(f.For, 2*time.Second), func() {
			h.stop()
			h.startAgain()
		})
	case Leap:
		h.offset += f.For
		h.truth.leapt = true
		h.arouse()
	case CutPeers:
		undo(&h.cutPeers)
	case CutLog:
		undo(&h.cutLog)
	case CutCalls:
		undo(&h.cutCalls)
	case CutAll:
		undo(&w.tables.away)
	case Disk:
		undo(&w.tables.disk)
	case Doubt:
		undo(&w.tables.doubt)
	case SlowFold:
		undo(&w.tables.stuck)
	case SlowNet:
		undo(&w.net.slow)
	case FailOver:
		w.failOver(f.Amount)
	}
}

func (h *host) startAgain() {
	if h.core == nil {
		h.paused = 0
		h.start()
	}
}

// parted says whether two hosts cannot reach each other.
func (w *world) parted(a, b int) bool {
	return w.plan.Groups > 0 && w.now < w.plan.Span && a%w.plan.Groups != b%w.plan.Groups
}

// network is between daemons.
type network struct {
	loss, twice float64
	slow        int // faults that make it slow
}

// post carries a message to another daemon.
func (w *world) post(from *host, s lease.Send) {
	i := slices.IndexFunc(w.hosts, func(h *host) bool { return h.daemon == s.To })
	if i < 0 || w.delays.Float64() < w.net.loss {
		return
	}
	to, daemon, sender := w.hosts[i], s.To, from.daemon
	if w.parted(from.no, i) {
		return
	}
	copies := 1
	if w.delays.Float64() < w.net.twice {
		copies = 2
	}
	for n := range copies {
		delay := 100*time.Microsecond + upTo(w.delays, 2*time.Millisecond)
		if w.net.slow > 0 || n > 0 {
			delay = upTo(w.delays, 500*time.Millisecond)
		}
		message := s.Message
		w.complete(message.Batches)
		w.after(delay, func() {
			if from.cutPeers == 0 && to.cutPeers == 0 {
				to.tellAs(daemon, lease.Received{From: sender, Message: message})
			}
		})
	}
}

// call carries a question to a daemon and its answer back; ok is false when there is none in time.
func (w *world) call(h *host, a lease.Ask, patience time.Duration, answered func(a lease.Answer, ok bool)) {
	over := false
	finish := func(a lease.Answer, ok bool) {
		if !over {
			over = true
			answered(a, ok)
		}
	}
	way := func() time.Duration { return 200*time.Microsecond + upTo(w.delays, 5*time.Millisecond) }
	w.after(way(), func() {
		if h.core == nil || h.cutCalls > 0 || over {
			return
		}
		h.number++
		a.Call = lease.Call{Number: h.number}
		daemon := h.daemon
		h.calls[h.number] = func(answer lease.Answer) {
			w.after(way(), func() {
				if h.cutCalls == 0 {
					finish(answer, true)
				}
			})
		}
		h.tell(a)
		w.after(patience, func() { // the connection ends
			if h.daemon == daemon && h.calls[a.Call.Number] != nil && a.Pull != nil {
				delete(h.calls, a.Call.Number)
				h.tell(lease.Ask{Call: a.Call, Left: true})
			}
		})
	})
	w.after(patience, func() { finish(lease.Answer{}, false) })
}
