package wanted

import (
	"fmt"
	"math"
	"time"

	"github.com/divvyhq/divvy/shares/pilots"
)

// Pilots is how many pilots a queue should have, and why.
type Pilots struct {
	Wanted int         `json:"wanted" doc:"Pilots that the queue should have now, in total. Start some if it has fewer."`
	Keep   int         `json:"keep" doc:"Queued pilots above this number may be cancelled. It falls only after provision.idle."`
	Alive  int         `json:"alive" doc:"Pilots that the running jobs and waiting pulls of the queue make up."`
	Jobs   int64       `json:"jobs" doc:"Ready and coming jobs that the queue is to run."`
	Reason string      `json:"reason" doc:"Why that many, in a sentence."`
	Terms  []PilotTerm `json:"terms" doc:"They add up to wanted."`
}

// PilotTerm is a part of the answer.
type PilotTerm struct {
	What   string  `json:"what"`
	Pilots float64 `json:"pilots" doc:"Pilots that it adds, in thousandths; below 0: that it takes away."`
}

// Level is what is remembered of a queue between two answers. The zero one remembers nothing.
type Level struct {
	keep  int
	below time.Time // since when less than keep is needed; zero: it is not
	most  int       // the most that was needed since then
}

// Next returns the level at a later time when so many are needed.
func (l Level) Next(need int, now time.Time, idle time.Duration) Level {
	switch {
	case need >= l.keep:
		return Level{keep: need}
	case l.below.IsZero():
		l.below, l.most = now, need
	default:
		l.most = max(l.most, need)
	}
	if now.Sub(l.below) >= idle {
		if l.most > need {
			return Level{keep: l.most, below: now, most: need}
		}
		return Level{keep: need}
	}
	return l
}

// Answer makes the answer of a need, and the level that is to be remembered.
func (n Need) Answer(p *pilots.Provision, l Level, now time.Time) (Pilots, Level) {
	b := bill{}
	b.add(n.Held, "jobs that run")
	b.add(n.Fits, "ready and coming jobs that fit its pilots")
	b.add(n.Allowed-n.Fits, "kept back by targets of shares or by resources")
	b.add(n.Split-n.Allowed, "run at other queues, or find no room")
	need := up(n.Held + n.Split)
	b.to(need, "rounded up to whole pilots")
	bounded := min(max(need, p.Min), p.Max)
	b.to(bounded, fmt.Sprintf("min %d, max %d", p.Min, p.Max))
	l = l.Next(bounded, now, p.Idle())
	a := Pilots{Alive: up(n.Alive), Keep: max(l.keep, bounded), Jobs: n.Jobs}
	// What falls follows the pilots that are there: none of them is started again for demand that is gone.
	a.Wanted = max(bounded, min(a.Keep, a.Alive))
	b.to(a.Wanted, fmt.Sprintf("alive, and not idle for %s yet", p.Idle()))
	held := a.Wanted
	a.Wanted = min(a.Wanted, a.Alive+p.Burst)
	b.to(a.Wanted, fmt.Sprintf("burst: at most %d that are not there yet", p.Burst))
	a.Terms = b.terms
	a.Reason = reason(n, need, held, a)
	return a, l
}

func reason(n Need, need, held int, a Pilots) string {
	jobs := fmt.Sprint(n.Jobs)
	if n.Waiting > n.Jobs {
		jobs += fmt.Sprintf(" of %d", n.Waiting)
	}
	s := fmt.Sprintf("%d pilots: what runs needs %s and %s ready or coming jobs need %s more", a.Wanted, figure(n.Held), jobs, figure(n.Split))
	switch {
	case a.Wanted < held:
		s += fmt.Sprintf("; of %d, burst lets only these be asked for at once", held)
	case a.Wanted < need:
		s += fmt.Sprintf("; max is %d", a.Wanted)
	case a.Wanted > need && a.Wanted == a.Alive:
		s += "; the others are alive and not idle for long"
	case a.Wanted > need:
		s += fmt.Sprintf("; min is %d", a.Wanted)
	}
	return s + "."
}

func up(part int64) int { return int(min((part+micro-1)/micro, math.MaxInt32)) }

// figure prints parts of a pilot.
func figure(part int64) string {
	if part%micro == 0 {
		return fmt.Sprint(part / micro)
	}
	return fmt.Sprintf("%.1f", float64(part)/micro)
}

// bill is terms and their sum. Terms are shown in thousandths, cut so that those that are shown add up.
type bill struct {
	terms []PilotTerm
	sum   int64
	shown int64
}

func (b *bill) add(part int64, what string) {
	b.sum += part
	milli := b.sum/(micro/1000) - b.shown
	if b.shown += milli; milli != 0 {
		b.terms = append(b.terms, PilotTerm{what, float64(milli) / 1000})
	}
}

func (b *bill) to(pilots int, what string) { b.add(int64(pilots)*micro-b.sum, what) }
