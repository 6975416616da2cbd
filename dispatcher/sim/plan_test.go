package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Kind is a kind of fault.
type Kind string

// The kinds of faults.
const (
	Crash    Kind = "crash"    // of a daemon, which starts anew after For
	Midst    Kind = "midst"    // a crash between a step and its effects, of which Amount-1 leave; it starts anew after For
	Pause    Kind = "pause"    // of a daemon: events pile up
	Freeze   Kind = "freeze"   // of a daemon, between its next step and the effects of it
	Drain    Kind = "drain"    // of a daemon, which is stopped after For and starts anew
	Leap     Kind = "leap"     // of a daemon's clock, by For
	CutPeers Kind = "peers"    // nothing passes between a daemon and the others
	CutLog   Kind = "log"      // nothing passes between a daemon and the log
	CutAll   Kind = "away"     // nothing passes between all daemons and the log
	CutCalls Kind = "calls"    // nothing passes between a daemon and its callers
	Disk     Kind = "disk"     // appends fail and are not written
	Doubt    Kind = "doubt"    // answers of appends are lost, and appends, or either comes late
	FailOver Kind = "failover" // the newest Amount batches are lost
	SlowFold Kind = "fold"     // nothing is folded
	SlowNet  Kind = "slow"     // messages take up to half a second
)

var kinds = []Kind{Crash, Crash, Midst, Midst, Pause, Pause, Freeze, Drain, Leap, CutPeers, CutLog, CutLog, CutAll, CutCalls, Disk, Doubt, Doubt, FailOver, SlowFold, SlowNet}

// Fault is something that goes wrong for a time.
type Fault struct {
	Kind   Kind
	At     time.Duration
	For    time.Duration
	Daemon int // host; -1: the one that leads by then
	Amount int
}

// Verb is what a generator, or a person, asks for.
type Verb string

// The verbs.
const (
	Enqueue  Verb = "enqueue"
	Withdraw Verb = "withdraw"
	Kill     Verb = "kill"
	Err      Verb = "err" // write what does not follow what is in the log

	Move      Verb = "move"  // jobs of a task to another share
	ScaleAway Verb = "scale" // a claim, with the jobs that hold it
	Adopt     Verb = "adopt" // the second version of the site
	Make      Verb = "make"  // a claim of people
	Delete    Verb = "delete"
	Cap       Verb = "cap"    // how many units there are, whatever the site says
	Report    Verb = "report" // what the owner of the units says
	Return    Verb = "return" // the third version of the site

	Hold   Verb = "hold" // pause a task
	Resume Verb = "resume"
)

// Deed is something that is written for the log.
type Deed struct {
	Verb Verb
	At   time.Duration
	Jobs int
	Host int // that is told; -1: any

	Share   int   // of the jobs, or to which they move; 0: the first
	Units   int64 // of the resource that each job asks for, or that there are
	User    int   // for whom
	Claim   Claiming
	From    int  // a move is of jobs of this share; 0: of all of the task
	Running bool // leases move too
	Says    Saying
}

// Claiming is what claims jobs hold. The zero one is none.
type Claiming struct {
	Group   int           // jobs that share one
	All     bool          // all of them share one more
	Node    bool          // those of one run on one node
	Devices int           // of that node
	Sharers int           // that hold it at a time; 0: any number
	Linger  time.Duration // how long it stays where it is while nobody holds it
	Units   int64         // of the resource, once for all
	Outside bool          // they hold one that people make, too
	Gang    bool          // they start together
	Spare   int           // jobs that it is made for and that never come
	Late    int           // the template comes with the second version of the site, which has several by number; 0: it is there
}

// Habit is how a pilot behaves.
type Habit struct {
	Queue   int
	Request bool          // its pulls have a request id
	Most    int           // jobs a pull
	Wait    time.Duration // of its pulls
	Run     time.Duration // of its jobs, twice as long at the most
	Fails   float64       // of its jobs
	Dies    time.Duration // when it is gone for good; 0: never
	Silent  time.Duration // when it stops to talk, and comes back after two TTL; 0: never
	Again   float64       // of its pulls and ends that are said once more after the answer
	Hasty   float64       // of its pulls that are said once more before it
	Node    int           // where it is, see nodesOf
}

// Plan is a history to be played.
type Plan struct {
	Seed    uint64
	Daemons int
	Span    time.Duration // faults end by then
	Site                  // in force from the beginning
	Later   *Site         // in force from Adopt on; nil: there is none
	Third   *Site         // in force from Return on; nil: there is none
	ByUser  bool          // units are split between users
	Claims  bool          // jobs hold claims, and pilots are on nodes
	Waits   bool          // rules decide about attempts that failed or were lost
	Loss    float64       // of messages between daemons
	Twice   float64       // of them
	TTL     time.Duration // of leases; 0: ttl
	Groups  int           // of hosts that cannot reach the hosts of the others before Span, nor can their pilots; 0: all reach each other
	Deeds   []Deed
	Habits  []Habit
	Faults  []Fault
}

// ttl is that of leases.
func (p *Plan) ttl() time.Duration { return cmp.Or(p.TTL, ttl) }

// stream is a source of random numbers for one purpose.
func stream(seed uint64, purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, purpose)) }

func upTo(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d) + 1)) }

// Draw makes the plan of a seed.
func Draw(seed uint64) Plan {
	r := stream(seed, 1)
	p := Plan{Seed: seed, Daemons: 1 + r.IntN(3), Span: 6*time.Second + upTo(r, 12*time.Second)}
	if r.IntN(4) > 0 {
		p.Daemons = max(2, p.Daemons)
	}
	for i := range p.Slots {
		p.Slots[i] = r.IntN(4)
	}
	if r.IntN(3) == 0 {
		p.Loss = 0.2 * r.Float64()
	}
	if r.IntN(3) == 0 {
		p.Twice = 0.2 * r.Float64()
	}
	for range 2 + r.IntN(4) {
		p.Deeds = append(p.Deeds, Deed{Verb: Enqueue, At: upTo(r, p.Span*3/4), Jobs: 1 + r.IntN(5), Host: -1})
	}
	for range r.IntN(3) {
		p.Deeds = append(p.Deeds, Deed{Verb: []Verb{Withdraw, Kill}[r.IntN(2)], At: upTo(r, p.Span), Host: -1})
	}
	if r.IntN(4) == 0 {
		p.Deeds = append(p.Deeds, Deed{Verb: Err, At: upTo(r, p.Span), Jobs: r.IntN(2), Host: -1})
	}
	for range 2 + r.IntN(4) {
		p.Habits = append(p.Habits, drawHabit(r, p.Span))
	}
	for range r.IntN(5) {
		f := drawFault(r, p)
		if p.Faults = append(p.Faults, f); r.IntN(2) == 0 { // something is asked of whom it befalls
			p.Deeds = append(p.Deeds, Deed{Verb: Enqueue, At: f.At + upTo(r, min(f.For, 300*time.Millisecond)), Jobs: 1 + r.IntN(3), Host: max(0, f.Daemon)})
		}
	}
	for _, f := range p.Faults {
		if f.Kind == Pause || f.Kind == Freeze {
			p.Span = max(p.Span, f.At+f.For+time.Second)
		}
	}
	p.enrich(stream(seed, 5))
	p.drawReports(stream(seed, 6))
	p.drawOwned(stream(seed, 7))
	p.drawPlaces(stream(seed, 8))
	p.drawHaste(stream(seed, 9))
	p.drawAside(stream(seed, 10))
	slices.SortStableFunc(p.Faults, func(a, b Fault) int { return int(a.At - b.At) })
	return p
}

func drawHabit(r *rand.Rand, span time.Duration) Habit {
	h := Habit{Queue: r.IntN(2), Request: r.IntN(2) == 0, Most: 1 + r.IntN(3)*r.IntN(2), Run: 50*time.Millisecond + upTo(r, 4*time.Second)}
	h.Wait = []time.Duration{0, 0, time.Second, 3 * time.Second}[r.IntN(4)]
	h.Fails = []float64{0, 0, 0.3}[r.IntN(3)]
	switch r.IntN(6) {
	case 0:
		h.Dies = upTo(r, span)
	case 1, 2:
		h.Silent = upTo(r, span)
	}
	h.Again = []float64{0, 0.3}[r.IntN(2)]
	return h
}

func drawFault(r *rand.Rand, p Plan) Fault {
	f := Fault{Kind: kinds[r.IntN(len(kinds))], At: upTo(r, p.Span*3/4), Daemon: r.IntN(p.Daemons+1) - 1}
	f.For = upTo(r, []time.Duration{500 * time.Millisecond, 3 * time.Second, 8 * time.Second}[r.IntN(3)])
	f.Amount = 1 + r.IntN(4)
	switch long := r.IntN(2) == 0; {
	case f.Kind == Leap:
		f.For = stopped + f.For*2
	case long && (f.Kind == Pause || f.Kind == Freeze): // past all that others wait for
		f.For += 5 * time.Second
	}
	return f
}

// String tells the plan, a line each.
func (p Plan) String() string {
	s := fmt.Sprintf("seed %d: %d daemons, %v, slots %v, loss %.2f, twice %.2f, waits %v\n", p.Seed, p.Daemons, p.Span, p.Slots, p.Loss, p.Twice, p.Waits)
	if p.rich() {
		s += fmt.Sprintf("  site %+v, by user %v, claims %v\n", p.Site, p.ByUser, p.Claims)
	}
	if p.Later != nil {
		s += fmt.Sprintf("  then %+v\n", *p.Later)
	}
	if p.Third != nil {
		s += fmt.Sprintf("  then %+v\n", *p.Third)
	}
	for _, d := range p.Deeds {
		s += fmt.Sprintf("  deed  %+v\n", d)
	}
	for _, h := range p.Habits {
		s += fmt.Sprintf("  pilot %+v\n", h)
	}
	for _, f := range p.Faults {
		s += fmt.Sprintf("  fault %+v\n", f)
	}
	return s
}
