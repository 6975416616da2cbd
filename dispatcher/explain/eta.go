package explain

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/divvyhq/divvy/shares"
)

// endsWithin is of what time Moment.Ends are, in words.
const endsWithin = "5 minutes"

// pilots counts those of the queues with a gate.
func (e *Explanation) pilots(at Gate) (n int) {
	for _, q := range e.Queues {
		if q.Gate == at {
			n += q.Pilots
		}
	}
	return n
}

func (t *ETA) words() string {
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
func summary(j *Subject, e *Explanation) string {
	if j.State == "waiting" {
		return "It is not ready: " + e.Waits.Reason + "."
	}
	var s string
	switch {
	case len(e.Queues) == 0:
		s = "Its share has gone from the site, or this daemon has not heard of its kind of jobs yet."
	case e.Gate == GateStructural:
		s = "No queue can run it: " + e.reasons(1) + "."
	case e.Gate == GateCap:
		s = "All that it may use is held: " + e.reasons(1) + "."
	case e.Gate == GateLending:
		s = "Units are kept back on purpose: " + e.reasons(1) + "."
	case e.Gate.isClaim():
		s = "It waits for a claim: " + e.reasons(1) + "."
	case e.Gate == GateBlackHole:
		s = "Where it may run jobs fail: " + e.reasons(1) + "."
	case e.Gate == GateResourceIO:
		s = "Others read and write as much as they may: " + e.reasons(1) + "."
	case e.Gate.isResource():
		s = "It waits for units of a resource: " + e.reasons(1) + "."
	case e.Gate == GateShare:
		s = "It waits for its share's turn: " + e.reasons(1) + "."
	case e.Gate == GateUser:
		s = "Its share is next, its user is not: " + e.reasons(1) + "."
	case e.Gate == GatePriority:
		s = "Its share is next, it is not: " + e.reasons(1) + "."
	default:
		s = "Nothing is in its way: " + e.reasons(1) + "."
	}
	if e.ETA.Known && e.Gate != GateNone {
		s += " It starts in " + e.ETA.words() + "."
	}
	return s
}

// reasons are those of the first queues at which the job gets furthest.
func (e *Explanation) reasons(most int) string {
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

// estimate is the time until as many jobs of the share have been started as come before this one, and itself.
func (l *look) estimate(e *Explanation) *ETA {
	eta := &ETA{}
	for _, name := range l.names {
		f := l.flows[name]
		eta.Flows = append(eta.Flows, Flow{Pool: f.pool, EndsPerSecond: f.perSecond, UnitsPerSecond: f.unitsPerS / 1000, Part: f.part,
			JobUnits: f.units.Float(), MeanUnits: l.meanUnits(f) / 1000})
	}
	switch {
	case e.Gate == GateStructural:
		eta.How = "unknown: no queue can run it"
		return eta
	case e.Gate.isClaim():
		eta.How = "unknown: it depends on what becomes of a claim that it shares with others"
		return eta
	case e.Gate == GateBlackHole:
		eta.How = "unknown: it depends on when the queue works again"
		return eta
	case e.Gate == GateResourceIO:
		eta.How = "unknown: it depends on when jobs end that read and write there"
		return eta
	case e.Gate.isResource():
		eta.How = "unknown: it depends on when units of a resource come back, and to whom they go"
		return eta
	case e.Gate == GateNone && e.pilots(GateNone) > 0:
		eta.Known, eta.How = true, "the next slot that pulls gets it, and pilots do pull there"
		return eta
	}
	perSecond, ended, terms := 0.0, 0.0, []string(nil)
	for _, name := range l.names {
		f := l.flows[name]
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
		eta.How = "unknown: nothing has ended in the last " + endsWithin + " where it could run"
	case perSecond == 0:
		eta.How = "unknown: the target of its share is 0"
	default:
		n := e.Position.Before + 1
		eta.Known, eta.AtLeast, eta.Seconds = true, e.Position.More, float64(n)/perSecond
		eta.How = fmt.Sprintf("%s and itself ÷ (%s) = %s", e.Position.words(), strings.Join(terms, " + "), eta.words())
	}
	return eta
}

// meanUnits is what the job and those before it charge in the pool of a flow, in thousandths: jobs before it may be wider. Those
// that do not run there count as the job itself.
func (l *look) meanUnits(f flow) float64 {
	n, sum := 1.0, float64(f.units)
	for _, a := range l.ahead {
		size, ok := f.sizes[a.Shape]
		if !ok {
			size = f.units
		}
		n, sum = n+float64(a.Before), sum+float64(a.Before)*float64(size)
	}
	return sum / n
}

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

// flowOf is what the leaf gets of a pool: of all that ends, as much as its target is of all targets.
func (l *look) flowOf(p *pool) flow {
	r := shares.Units(math.Round(p.Round * 1000))
	f := flow{pool: p.name, sizes: map[int32]shares.Units{}, units: shares.Units(l.need.Cores) * l.power(l.need, p.name)}
	for _, e := range l.Ends {
		if l.endsIn(p.name, e) {
			f.perSecond += e.PerSecond
			f.unitsPerS += e.UnitsPerS
		}
	}
	targets := p.Book.Targets(r)
	if targets[0] > 0 {
		f.part = targets[l.leaf] / targets[0]
	}
	users := l.View.Users(l.subject.Share, p.name)
	f.part *= userPart(users, userParts(users, targets[l.leaf]), l.subject.User)
	if wait, ok := p.Book.ETA(r, l.leaf, l.byLeaf(p.name)); ok {
		seconds := wait.Seconds()
		f.atTarget = &seconds
	}
	for _, a := range l.ahead {
		if a.Before > 0 {
			l.sizeOf(a.Shape, p.name, f.sizes)
		}
	}
	return f
}

// sizeOf notes the units that jobs of a shape charge in a pool, if they run there.
func (l *look) sizeOf(shape int32, pool string, sizes map[int32]shares.Units) {
	need, known := l.View.Shape(shape)
	if power := l.power(need, pool); known && power > 0 {
		sizes[shape] = shares.Units(need.Cores) * power
	}
}

// byLeaf is how attempts of each leaf ended in a pool.
func (m Moment) byLeaf(pool string) map[int]shares.Ends {
	out := map[int]shares.Ends{}
	for _, e := range m.Ends {
		node, ok := m.View.Site.Tree.ByID(e.Share)
		if !ok || !m.endsIn(pool, e) {
			continue
		}
		was := out[node]
		units := was.PerSecond*was.Units + e.UnitsPerS
		was.PerSecond += e.PerSecond
		out[node] = shares.Ends{PerSecond: was.PerSecond, Units: units / was.PerSecond}
	}
	return out
}

func (m Moment) endsIn(pool string, e EndRate) bool {
	q, ok := queueOf(m.View.Site, e.Queue)
	return ok && q.Pool == pool && e.PerSecond > 0
}
