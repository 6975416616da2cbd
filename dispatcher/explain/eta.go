package explain

import (
	"fmt"
	"math"
	"slices"
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
	s := "Its share has gone from the site, or this daemon has not heard of its kind of jobs yet."
	if len(e.Queues) > 0 {
		_, answer, _ := e.Gate.said()
		s = answer + ": " + e.reason() + "."
	}
	if e.ETA.Known && e.Gate != GateNone {
		s += " It starts in " + e.ETA.words() + "."
	}
	return s
}

// reason is that of the first queue at which the job gets furthest.
func (e *Explanation) reason() (s string) {
	n := 0
	for _, q := range e.Queues {
		if q.Gate != e.Gate {
			continue
		}
		if n++; n == 1 {
			s = q.Queue + ": " + q.Reason
		}
	}
	if n > 1 {
		s += fmt.Sprintf(" (and %d more queues likewise)", n-1)
	}
	return s
}

// estimate is the time until as many jobs of the share have been started as come before this one, and itself.
func (l *look) estimate(e *Explanation) *ETA {
	eta := &ETA{}
	for _, f := range l.pools {
		eta.Flows = append(eta.Flows, Flow{Pool: f.name, EndsPerSecond: f.perSecond, UnitsPerSecond: f.unitsPerS / 1000, Part: f.part,
			JobUnits: f.units.Float(), MeanUnits: l.meanUnits(f) / 1000})
	}
	if _, _, unknown := e.Gate.said(); unknown != "" {
		eta.How = "unknown: " + unknown
		return eta
	}
	if e.Gate == GateNone && e.pilots(GateNone) > 0 {
		eta.Known, eta.How = true, "the next slot that pulls gets it, and pilots do pull there"
		return eta
	}
	perSecond, ended, terms := 0.0, 0.0, []string(nil)
	for _, f := range l.pools {
		ended += f.perSecond
		if f.unitsPerS*f.part > 0 {
			mean := l.meanUnits(f)
			perSecond += f.unitsPerS * f.part / mean
			terms = append(terms, fmt.Sprintf("%s units a second end in pool %s × %s of them for %s ÷ %s units a job",
				figure(f.unitsPerS/1000), f.name, figure(f.part), e.Share, figure(mean/1000)))
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
func (l *look) meanUnits(f *flow) float64 {
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

// flow is what the share gets of a pool, in the dispatcher's figures.
type flow struct {
	*pool
	perSecond float64
	unitsPerS float64 // thousandths
	part      float64
	units     shares.Units           // of the job
	sizes     map[int32]shares.Units // of jobs of the shapes of its share that run there
	atTarget  *float64
}

// flowOf is what the leaf gets of a pool: of all that ends, as much as its target is of all targets.
func (l *look) flowOf(p *pool) *flow {
	f := &flow{pool: p, sizes: map[int32]shares.Units{}, units: shares.Units(l.need.Cores) * l.power(l.need, p.name)}
	for _, e := range l.Ends {
		if l.endsIn(p.name, e) {
			f.perSecond += e.PerSecond
			f.unitsPerS += e.UnitsPerS
		}
	}
	targets := p.Book.Targets(p.round)
	if targets[0] > 0 {
		f.part = targets[l.leaf] / targets[0]
	}
	users := l.View.Users(l.subject.Share, p.name)
	f.part *= userPart(users, userParts(users, targets[l.leaf]), l.subject.User)
	if wait, ok := p.Book.ETA(p.round, l.byLeaf(p.name))(l.leaf); ok {
		seconds := wait.Seconds()
		f.atTarget = &seconds
	}
	for _, a := range l.ahead {
		if a.Before > 0 {
			l.sizeOf(a.Shape, f)
		}
	}
	return f
}

// sizeOf notes the units that jobs of a shape charge in a pool, if they run there.
func (l *look) sizeOf(shape int32, f *flow) {
	need, known := l.View.Shape(shape)
	if power := l.power(need, f.name); known && power > 0 {
		f.sizes[shape] = shares.Units(need.Cores) * power
	}
}

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
	return e.PerSecond > 0 && slices.ContainsFunc(m.View.Site.Queues, func(q shares.Queue) bool { return q.ID == e.Queue && q.Pool == pool })
}
