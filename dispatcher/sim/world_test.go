package sim

import (
	"container/heap"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/internal/ledgertest"
	"github.com/divvyhq/divvy/shares"
)

// Times of the daemons in a simulation: short, so that much happens in a short history.
const (
	ttl        = 4 * time.Second
	grace      = 2 * time.Second
	stopped    = 3 * time.Second
	renewEvery = 1200 * time.Millisecond
	drift      = 0.03 // of clocks, at the most
)

// Core is a daemon under test: a lease.Node, or a broken one.
type Core interface {
	Step(now time.Duration, events ...lease.Event) []lease.Effect
	Leads() bool
	Machine() (m lease.Machine, settled bool)
}

// Wiring is what a simulation is made of. Broken variants replace parts of it.
type Wiring struct {
	Machine func(slots [2]int) lease.Machine // a new one
	Plain   bool                             // the machine knows no shares, units, claims nor another version of the site
	Core    func(cfg lease.Config) Core
	Append  func(l *ledgertest.Memory, b entry.Batch, beside ledger.Beside) (time.Time, error)
	Reload  func(w *Tables, host int) lease.Reloaded
	Reclaim func(orders []retry.Order, all []retry.Candidate) []retry.Order // what the rule orders; nil: as it does
	Seen    func(e entry.Entry)                                             // hears of what is in the log; nil: nobody wants to know
	Replays bool                                                            // decisions are made again at the end, by a machine
}

// config is that of machines.
var config = machine.Config{GangHold: 2 * time.Second}

// Default is the wiring of what is under test.
func Default() Wiring {
	return Wiring{
		Machine: func([2]int) lease.Machine { return machine.New(config) },
		Core:    func(cfg lease.Config) Core { return lease.New(cfg) },
		Append: func(l *ledgertest.Memory, b entry.Batch, beside ledger.Beside) (time.Time, error) {
			return l.AppendWith(nil, b, beside) //nolint:staticcheck // it asks nothing of it
		},
		Reload:  (*Tables).started,
		Replays: true,
	}
}

// Result is what came of a plan.
type Result struct {
	Wrong   []string // what was violated
	Seen    Seen
	Trace   uint64 // hash of all events and effects
	Steps   int    // of daemons
	Batches int
	Leases  int
	Took    time.Duration // virtual
}

// world is one history being played.
type world struct {
	plan   Plan
	wiring Wiring
	sites  []*shares.Version // by number, from 1
	now    time.Duration
	queue  schedule
	no     uint64
	delays *rand.Rand
	drawn  *rand.Rand // ids, nonces

	tables   Tables
	truth    *truth
	hosts    []*host
	pilots   []*pilot
	net      network
	jobs     int64          // announced or about to be
	adopting *rowTruth      // the second version of the site; nil: nobody has applied it
	back     *rowTruth      // the third one
	nClaim   int64          // claims that there were
	scaled   map[int64]bool // claims that were scaled away
	ruling

	unwritten int // rows that wait for the database
	daemons   int64

	told io.Writer // what happens, for people; nil: nobody
	rule reclaimer
	account
}

// account is what came of a history so far.
type account struct {
	trace hash.Hash64
	steps int
	wrong []string
	seen  Seen
}

// occasion is something that happens at a time.
type occasion struct {
	at time.Duration
	no uint64
	do func()
}

type schedule []occasion

func (s schedule) Len() int { return len(s) }
func (s schedule) Less(i, j int) bool {
	return s[i].at < s[j].at || s[i].at == s[j].at && s[i].no < s[j].no
}
func (s schedule) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s *schedule) Push(x any)   { *s = append(*s, x.(occasion)) }
func (s *schedule) Pop() any {
	o := (*s)[len(*s)-1]
	(*s)[len(*s)-1].do = nil
	*s = (*s)[:len(*s)-1]
	return o
}

// after lets something happen later.
func (w *world) after(d time.Duration, do func()) {
	w.no++
	heap.Push(&w.queue, occasion{w.now + max(0, d), w.no, do})
}

// violate notes that a promise was broken.
func (w *world) violate(format string, args ...any) {
	text := fmt.Sprintf("%.3f s: ", w.now.Seconds()) + fmt.Sprintf(format, args...)
	w.say("VIOLATED: %s", text)
	if len(w.wrong) < 5 {
		w.wrong = append(w.wrong, text)
	}
}

// say tells people what happens.
func (w *world) say(format string, args ...any) {
	if w.told != nil {
		fmt.Fprintf(w.told, "%8.3f  %s\n", w.now.Seconds(), fmt.Sprintf(format, args...))
	}
}

// note makes something part of the trace.
func (w *world) note(values ...uint64) {
	var b [8]byte
	for _, v := range append(values, uint64(w.now)) {
		for i := range b {
			b[i] = byte(v >> (8 * i))
		}
		_, _ = w.trace.Write(b[:])
	}
}

// id draws an id.
func (w *world) id() (id entry.ID) {
	for i := 0; i < len(id); i += 8 {
		v := w.drawn.Uint64()
		for j := range 8 {
			id[i+j] = byte(v >> (8 * j))
		}
	}
	return id
}

// mostSteps ends a history that goes round in circles.
const mostSteps = 40000

// settling is how long after the last fault every job must have ended.
const settling = 150 * time.Second

// Run plays a plan. Told gets what happens; nil: nobody does.
func Run(p Plan, wiring Wiring, told io.Writer) Result {
	if wiring.Plain {
		p = p.plain()
	}
	w := &world{plan: p, sites: p.versions(), scaled: map[int64]bool{}, ruling: ruling{rulings: map[lease.Key]*rowTruth{}}, wiring: wiring, delays: stream(p.Seed, 2), drawn: stream(p.Seed, 3), told: told, account: account{trace: fnv.New64a()}}
	w.net = network{loss: p.Loss, twice: p.Twice}
	w.tables = Tables{sites: w.sites, Log: &ledgertest.Memory{Clock: w.clock}, new: func() lease.Machine { return wiring.Machine(p.Slots) }, complete: w.complete}
	w.truth = newTruth(w)
	for i := range p.Daemons {
		h := &host{world: w, no: i, rate: 1 + drift*(2*w.drawn.Float64()-1)}
		w.hosts = append(w.hosts, h)
		w.after(upTo(w.delays, 100*time.Millisecond), h.start)
	}
	w.prepare()
	for len(w.queue) > 0 && w.now < p.Span+settling && w.steps < mostSteps && len(w.wrong) == 0 {
		o := heap.Pop(&w.queue).(occasion)
		w.now = max(w.now, o.at)
		if o.do(); w.now > p.Span && w.truth.done() && w.pending() == 0 {
			break
		}
	}
	if len(w.wrong) == 0 {
		w.finish()
	}
	return Result{w.wrong, w.seen, w.trace.Sum64(), w.steps, len(w.truth.batches), len(w.truth.leases), w.now}
}

// clock is the database's. It runs as time does.
func (w *world) clock() time.Time { return epoch.Add(w.now) }

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// prepare has pilots, deeds, faults and folds begin.
func (w *world) prepare() {
	w.begin()
	for _, d := range w.plan.Deeds {
		w.after(d.At, func() { w.do(d) })
	}
	for i, h := range w.plan.Habits {
		p := &pilot{world: w, no: i, Habit: h, random: stream(w.plan.Seed, 100+uint64(i))}
		if p.plan.Groups > 0 {
			p.home = i % len(w.hosts)
		}
		w.pilots = append(w.pilots, p)
		w.after(upTo(p.random, time.Second), p.pull)
	}
	for _, f := range w.plan.Faults {
		w.after(f.At, func() { w.fault(f) })
	}
	w.after(w.plan.Span, w.heal)
	w.after(200*time.Millisecond, w.fold)
	if w.plan.owns() {
		w.after(time.Second, w.reclaim)
	}
}

// heal ends what goes wrong: the settling begins.
func (w *world) heal() {
	w.say("the faults are over")
	w.net = network{}
	for _, h := range w.hosts {
		h.cutPeers, h.cutLog, h.cutCalls = 0, 0, 0
		if h.core == nil {
			h.start()
		}
		h.resume()
	}
	w.tables.away, w.tables.disk, w.tables.doubt, w.tables.stuck = 0, 0, 0, 0
	w.relent()
	for _, p := range w.pilots {
		p.healthy, p.Run = true, min(p.Run, 300*time.Millisecond) // where one job runs at a time, all get through
	}
	nodes, most := 1, 1
	if w.plan.Claims {
		nodes, most = len(nodesOf), 3
	}
	for i := range 2 * nodes { // whoever died is replaced: all that is ready can run
		p := &pilot{world: w, no: 1000 + i, Habit: Habit{Queue: i % 2, Most: most, Run: 100 * time.Millisecond, Request: true, Node: i / 2}, healthy: true,
			random: stream(w.plan.Seed, 1000+uint64(i))}
		w.pilots = append(w.pilots, p)
		w.after(0, p.pull)
	}
}

// finish checks what can only be said at the end.
func (w *world) finish() {
	switch {
	case w.steps >= mostSteps:
		w.violate("daemons make %d steps in %v: %s", w.steps, w.now, w.truth.undone())
		return
	case !w.truth.done() || w.pending() > 0:
		w.violate("it does not go on: %s", w.truth.undone())
		return
	}
	for _, h := range w.hosts {
		h.compare()
	}
	w.truth.recount()
	w.truth.settleRows()
	w.truth.settle(&w.seen)
	if w.wiring.Replays {
		w.replay()
	}
}
