package machine

import (
	"fmt"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ready"
)

// What follows is of entries that Killed and Moved replace. It goes when nobody writes them any more.

// withdraw makes ready jobs ready no more.
func (s *state) withdraw(e entry.Withdrew) { s.takeOut(e.Task, e.Low, e.High) }

// recharge has leases count for another share and shape.
func (s *state) recharge(e entry.Recharged) error {
	to := ready.Key{Share: e.Share, Shape: e.Shape}
	if s.words.shapes[e.Shape] == nil {
		return fmt.Errorf("recharged: shape %d is not known", e.Shape)
	}
	for job := range s.leases.OfTask(e.Task, e.Low, e.High) {
		l := s.leases.Run(job)
		from := ready.Key{Share: l.Share, Shape: l.Shape}
		l.Share, l.Home, l.Shape, l.Place = e.Share, e.Share, e.Shape, e.Place
		if from != to {
			s.hold(from, l.Queue, -1, -l.Units)
			s.hold(to, l.Queue, 1, l.Units)
		}
		s.sorts.turn(s.claims.Recharged(job, e.Share))
	}
	s.eased++
	return nil
}
