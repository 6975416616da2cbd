package sim

import "time"

// maxPoints bounds a series, however long the simulated time: beyond it two points become one.
const maxPoints = 512

// series is what was held and what should have been, point by point, in slot-seconds.
type series struct {
	nNode  int
	begin  time.Duration // of the first point
	every  time.Duration
	points [][]pair // by point and node
}

type pair struct{ held, target float64 }

func newSeries(nNode int, every time.Duration) series {
	if every <= 0 {
		every = time.Hour
	}
	return series{nNode: nNode, every: every}
}

// pass spreads the time between two moments over the points that it touches.
func (s *series) pass(from, to time.Duration, held, targets []float64) {
	from, to = from-s.begin, to-s.begin
	for (to-1)/s.every >= maxPoints {
		s.halve()
	}
	for from < to {
		k := int(from / s.every)
		end := min(to, time.Duration(k+1)*s.every)
		for len(s.points) <= k {
			s.points = append(s.points, make([]pair, s.nNode))
		}
		dt := (end - from).Seconds()
		point := s.points[k]
		for i := range point {
			point[i].held += held[i] * dt
			point[i].target += targets[i] / 1000 * dt
		}
		from = end
	}
}

func (s *series) halve() {
	for k := range s.points {
		into := s.points[k/2]
		if k%2 == 0 {
			copy(into, s.points[k])
			continue
		}
		for i := range into {
			into[i].held += s.points[k][i].held
			into[i].target += s.points[k][i].target
		}
	}
	s.points = s.points[:(len(s.points)+1)/2]
	s.every *= 2
}
