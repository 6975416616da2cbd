package machine

import (
	"encoding/json"
	"fmt"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/job"
)

// words are the shapes that jobs have.
type words struct {
	state    *state
	shapes   map[int32]*shape
	outlines map[string]*outline // by their requirements
	byAt     []*outline          // by outline.at
	guests   []*outline          // the others
	at       [][]*outline        // those that a queue may run, by its position; without guests
	guestsAt [][]*outline        // the same, of guests
	variants map[variantKey]*shape
	bySort   map[string][]*shape // variants, by the text of the sort
	last     int32               // of the numbers of variants: they fall
}

// shape is a set of requirements, with what the present site makes of it: one of the log, or a variant of one.
type shape struct {
	*outline
	id     int32
	full   job.Requirements // with its resources
	asked  gate.Asked       // of resources
	headed bool             // its buffers are heads: it asks for resources, or its claims are full at times

	base *shape     // of the log, whose jobs these are; see variant
	sort *gate.Sort // what their claims ask of a slot now
	own  []*buffer
}

// outline is what shapes have in common that differ in resources, sharing ID and user only: all that says which slots may
// run their jobs. There are few of them; of shapes there may be as many as users.
type outline struct {
	books.Fit
	at      int       // its number here, without gaps; of guests a number that no kind has
	guest   bool      // no kind runs it: its jobs are bound to a node, or start as a gang
	shapes  []*shape  // that are headed
	buffers []*buffer // on a leaf of the present tree; not of guests
	polled  int       // its queues at which pilots pull
}

// know adds a shape.
func (s *state) know(e entry.Shaped) error {
	if had := s.words.shapes[e.Shape]; had != nil {
		return fmt.Errorf("shape %d is known", e.Shape)
	}
	if e.Need.Claims != nil {
		return fmt.Errorf("shape %d has claims: what these ask for follows from the claims", e.Shape)
	}
	if e.Need.Cores < 1 {
		return fmt.Errorf("shape %d: cores: %d, want 1 or more", e.Shape, e.Need.Cores)
	}
	sh := &shape{outline: s.words.outlineOf(e.Need), id: e.Shape, full: e.Need, asked: askedOf(e.Need), sort: &gate.Sort{}}
	sh.base, sh.headed = sh, sh.asked.Any()
	s.words.shapes[e.Shape] = sh
	if sh.headed {
		sh.shapes = append(sh.shapes, sh)
		s.supplies.resolve(sh)
	}
	return nil
}

func askedOf(need job.Requirements) gate.Asked {
	return gate.AskedOf(need.Resources, gate.Payer{SharingID: need.SharingID, Label: need.Label})
}

func (ws *words) outlineOf(need job.Requirements) *outline {
	need.Resources, need.SharingID, need.User = nil, "", ""
	key, err := json.Marshal(need)
	if err != nil {
		panic(err) // plain values: it cannot be
	}
	o := ws.outlines[string(key)]
	if o == nil {
		o = &outline{Fit: books.FitOf(need), at: len(ws.byAt), guest: need.Claims != nil && (need.Claims.Queue != "" || need.Claims.Gang > 0)}
		ws.outlines[string(key)] = o
		if o.guest {
			o.at = unnumbered
			ws.guests = append(ws.guests, o)
		} else {
			ws.byAt = append(ws.byAt, o)
		}
		ws.place(o)
	}
	return o
}

// place finds the queues that may run an outline. Its buffers are hung afterwards.
func (ws *words) place(o *outline) {
	s := ws.state
	s.site.Place(&o.Fit)
	o.buffers, o.polled = nil, 0
	for i, is := range o.Queues {
		if !is {
			continue
		}
		if o.guest {
			ws.guestsAt[i] = append(ws.guestsAt[i], o)
		} else {
			ws.at[i] = append(ws.at[i], o)
		}
		if s.supplies.polled[s.site.Version.Queues[i].ID] {
			o.polled++
		}
	}
}
