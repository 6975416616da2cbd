package machine

import (
	"fmt"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

// What follows is of entries that Killed and Moved replace. It goes when nobody writes them any more.

// withdraw makes ready jobs ready no more.
func (s *state) withdraw(e entry.Withdrew) { s.takeOut(e.Task, e.Low, e.High) }

// recharge has leases count for another share and shape.
func (s *state) recharge(e entry.Recharged) error {
	if s.words.shapes[e.Shape] == nil {
		return fmt.Errorf("recharged: shape %d is not known", e.Shape)
	}
	for job := range s.leases.OfTask(e.Task, e.Low, e.High) {
		l := s.leases.Run(job)
		s.hold(l.Share, l, -1)
		l.Share, l.Home, l.Shape, l.Place = e.Share, e.Share, e.Shape, e.Place
		s.hold(l.Share, l, 1)
		s.sorts.turn(s.claims.Recharged(job, e.Share))
	}
	s.eased++
	return nil
}
