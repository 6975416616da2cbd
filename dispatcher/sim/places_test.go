package sim

import (
	"math/rand/v2"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

// Place has people put jobs of a task elsewhere in the order of their share.
const Place Verb = "place"

// place gives jobs of a task another place.
func (w *world) place(d Deed) {
	r := w.truth.rangeOf(1 + w.drawn.Int64N(max(1, w.jobs)))
	if r == nil || w.tables.away > 0 {
		return
	}
	e := entry.Placed{Task: r.Task, Low: r.Low, High: r.Low + int64(d.Jobs), Place: d.Units}
	w.say("place: %+v", e)
	w.write(&rowTruth{task: r.Task, entries: []entry.Entry{e}}, d.Host)
}

// placed has jobs stand at another place, those that run when they come back.
func (t *truth) placed(e entry.Placed) {
	for id := e.Low; id <= e.High; id++ {
		if j := t.jobs[id]; j != nil && !j.over && j.Task == e.Task {
			j.Place = e.Place
		}
	}
}

// judgePlace judges whether a job comes first in its share that is granted. Where jobs ask for units, or hold claims, others may be passed by.
func (t *truth) judgePlace(g *entry.Granted) {
	if t.plan.Units > 0 || t.plan.Claims {
		return
	}
	for id, j := range t.jobs { // any order
		if j.ready && j.Share == g.Share && (j.Place < g.Place || j.Place == g.Place && id < g.Job) {
			t.violate("job %d at place %d is granted, and job %d at place %d comes first", g.Job, g.Place, id, j.Place)
			return
		}
	}
	t.seen.Placed++
}

// drawPlaces draws who is put elsewhere.
func (p *Plan) drawPlaces(r *rand.Rand) {
	for range r.IntN(3) * r.IntN(2) {
		p.Deeds = append(p.Deeds, Deed{Verb: Place, At: upTo(r, p.Span), Jobs: r.IntN(5), Units: r.Int64N(4), Host: -1})
	}
}
