package dispatcher

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/divvyhq/divvy/shares"
)

// flow is a Flow in the dispatcher's figures.
type flow struct {
	pool      string
	perSecond float64
	unitsPerS float64 // thousandths
	part      float64
	units     shares.Units           // of the job
	sizes     map[int32]shares.Units // of jobs of the shapes of its share that run there
	atTarget  *float64
}

// flowOf is what a leaf gets of a pool: of all that ends, as much as its target at R = r is of all targets.
func (s *state) flowOf(p *pool, leaf int, r shares.Units, ends []endRate) flow {
	f := flow{pool: p.name}
	for _, e := range ends {
		if s.endsIn(p, e) {
			f.perSecond += e.PerSecond
			f.unitsPerS += e.UnitsPerS
		}
	}
	targets := p.book.Targets(r)
	if targets[0] > 0 {
		f.part = targets[leaf] / targets[0]
	}
	if wait, ok := p.book.ETA(r, leaf, s.byLeaf(p, ends)); ok {
		seconds := wait.Seconds()
		f.atTarget = &seconds
	}
	return f
}

// byLeaf is how attempts of each leaf ended in a pool.
func (s *state) byLeaf(p *pool, ends []endRate) map[int]shares.Ends {
	out := map[int]shares.Ends{}
	for _, e := range ends {
		node, ok := s.version.Tree.ByID(e.ShareID)
		if !ok || !s.endsIn(p, e) {
			continue
		}
		was := out[node]
		units := was.PerSecond*was.Units + e.UnitsPerS
		was.PerSecond += e.PerSecond
		out[node] = shares.Ends{PerSecond: was.PerSecond, Units: units / was.PerSecond}
	}
	return out
}

func (s *state) endsIn(p *pool, e endRate) bool {
	q := s.queues[e.QueueID]
	return q != nil && q.pool == p && e.PerSecond > 0
}

// estimate is the time until as many jobs of the share have been started as come before this one, and itself.
func (l *look) estimate(e *Explanation) *ETA {
	eta := &ETA{}
	for _, f := range l.flows {
		eta.Flows = append(eta.Flows, Flow{Pool: f.pool, EndsPerSecond: f.perSecond, UnitsPerSecond: f.unitsPerS / 1000, Part: f.part,
			JobUnits: f.units.Float(), MeanUnits: l.meanUnits(f) / 1000})
	}
	switch {
	case e.Gate == GateStructural:
		eta.How = "unknown: no queue can run it"
		return eta
	case gateIsClaim(e.Gate):
		eta.How = "unknown: it depends on what becomes of a claim that it shares with others"
		return eta
	case e.Gate == GateBlackHole:
		eta.How = "unknown: it depends on when the queue works again"
		return eta
	case e.Gate == GateResourceIO:
		eta.How = "unknown: it depends on when jobs end that read and write there"
		return eta
	case gateIsResource(e.Gate):
		eta.How = "unknown: it depends on when units of a resource come back, and to whom they go"
		return eta
	case e.Gate == GateNone && explanationPilots(e, GateNone) > 0:
		eta.Known, eta.How = true, "the next slot that pulls gets it, and pilots do pull there"
		return eta
	}
	perSecond, ended, terms := 0.0, 0.0, []string(nil)
	for _, f := range l.flows {
		ended += f.perSecond
		if f.unitsPerS*f.part > 0 {
			mean := l.meanUnits(f)
			perSecond += f.unitsPerS * f.part / mean
			terms = append(terms, fmt.Sprintf("%s units a second end in pool %s × %s of them for %s ÷ %s units a job",
				figure(f.unitsPerS/1000), f.pool, figure(f.part), e.Share, figure(mean/1000)))
		}
	}
	switch {
	case ended == 0:
		eta.How = fmt.Sprintf("unknown: nothing has ended in the last %d minutes where it could run", int(endsWithin.Minutes()))
	case perSecond == 0:
		eta.How = "unknown: the target of its share is 0"
	default:
		n := e.Position.Before + 1
		eta.Known, eta.AtLeast, eta.Seconds = true, e.Position.More, float64(n)/perSecond
		eta.How = fmt.Sprintf("%s and itself ÷ (%s) = %s", positionWords(e.Position), strings.Join(terms, " + "), eTAWords(eta))
	}
	return eta
}

// sizesIn are the units that jobs of a leaf charge in a pool, by shape; of those that run there.
func (s *state) sizesIn(p *pool, leaf int, shapes []int32) map[int32]shares.Units {
	sizes := make(map[int32]shares.Units, len(shapes))
	for _, id := range shapes {
		if sh := s.shapes[id]; sh != nil {
			if power := s.powerAt(leaf, sh.outline, p); power > 0 {
				sizes[id] = shares.Units(sh.need.Cores) * power
			}
		}
	}
	return sizes
}

// meanUnits is what the job and those before it charge in the pool of a flow, in thousandths: jobs before it may be wider. Those
// that do not run there count as the job itself.
func (l *look) meanUnits(f flow) float64 {
	n, sum := 1.0, float64(f.units)
	for _, a := range l.ahead {
		size, ok := f.sizes[a.ShapeID]
		if !ok {
			size = f.units
		}
		n, sum = n+float64(a.Free), sum+float64(a.Free)*float64(size)
	}
	return sum / n
}

// pilots counts those of the queues with a gate.
func explanationPilots(e *Explanation, at Gate) (n int) {
	for _, q := range e.Queues {
		if q.Gate == at {
			n += q.Pilots
		}
	}
	return n
}

func eTAWords(t *ETA) string {
	n := int64(min(math.Ceil(t.Seconds), math.MaxInt32))
	var s string
	switch {
	case n < 60:
		s = fmt.Sprintf("%d s", n)
	case n < 3600:
		s = fmt.Sprintf("%d min %d s", n/60, n%60)
	default:
		s = fmt.Sprintf("%d h %d min", n/3600, n/60%60)
	}
	if t.AtLeast {
		return "more than " + s
	}
	return "about " + s
}

// figure prints a figure with three decimals at the most.
func figure(f float64) string {
	if f = math.Round(f*1000) / 1000; f == 0 {
		return "0" // not -0
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// summary is the answer for a job that has no slot yet.
func summary(j *subject, e *Explanation) string {
	if j.State == "waiting" {
		return "It is not ready: " + e.Waits.Reason + "."
	}
	var s string
	switch {
	case len(e.Queues) == 0:
		s = "Its share has gone from the site, or this daemon has not heard of its kind of jobs yet."
	case e.Gate == GateStructural:
		s = "No queue can run it: " + explanationReasons(e, 1) + "."
	case e.Gate == GateCap:
		s = "All that it may use is held: " + explanationReasons(e, 1) + "."
	case e.Gate == GateLending:
		s = "Units are kept back on purpose: " + explanationReasons(e, 1) + "."
	case gateIsClaim(e.Gate):
		s = "It waits for a claim: " + explanationReasons(e, 1) + "."
	case e.Gate == GateBlackHole:
		s = "Where it may run jobs fail: " + explanationReasons(e, 1) + "."
	case e.Gate == GateResourceIO:
		s = "Others read and write as much as they may: " + explanationReasons(e, 1) + "."
	case gateIsResource(e.Gate):
		s = "It waits for units of a resource: " + explanationReasons(e, 1) + "."
	case e.Gate == GateShare:
		s = "It waits for its share's turn: " + explanationReasons(e, 1) + "."
	case e.Gate == GateUser:
		s = "Its share is next, its user is not: " + explanationReasons(e, 1) + "."
	case e.Gate == GatePriority:
		s = "Its share is next, it is not: " + explanationReasons(e, 1) + "."
	default:
		s = "Nothing is in its way: " + explanationReasons(e, 1) + "."
	}
	if e.ETA.Known && e.Gate != GateNone {
		s += " It starts in " + eTAWords(e.ETA) + "."
	}
	return s
}

// reasons are those of the first queues at which the job gets furthest.
func explanationReasons(e *Explanation, most int) string {
	var all []string
	n := 0
	for _, q := range e.Queues {
		if q.Gate != e.Gate {
			continue
		}
		if n++; n <= most {
			all = append(all, q.Queue+": "+q.Reason)
		}
	}
	s := strings.Join(all, "; ")
	if n > most {
		s += fmt.Sprintf(" (and %d more queues likewise)", n-most)
	}
	return s
}
