package fold

import (
	"cmp"
	"slices"
)

func byHigh(a, b Range) int { return cmp.Compare(a.High, b.High) }

func byJob(a, b Lease) int { return cmp.Compare(a.Job, b.Job) }

// changes are what the step has made, each list in an order that has its rows and their index entries side by side.
func (s *step) changes() Changes {
	c := Changes{Ended: s.ended, History: s.history, Over: s.over, Ranges: changes(s.before, s.ranges), Odd: s.odd, Odds: s.odds, Sums: s.sums.list(),
		Tasks: s.tasks.since(s.known.Tasks), Claims: s.claims.changes()}
	for _, l := range s.live {
		switch {
		case l.isNew:
			c.Granted = append(c.Granted, l.Lease)
		case l.altered:
			c.Altered = append(c.Altered, l.Lease)
		}
	}
	slices.SortFunc(c.Granted, byJob)
	slices.SortFunc(c.Altered, byJob)
	slices.Sort(c.Ended)
	slices.SortFunc(c.History, func(a, b Attempt) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Attempt, b.Attempt))
	})
	c.Expected = sorted(s.waited, func(a, b Expected) int { return cmp.Or(cmp.Compare(a.Share, b.Share), cmp.Compare(a.Shape, b.Shape)) })
	for l, text := range s.latest {
		l.Entry = text
		c.Latest = append(c.Latest, l)
	}
	slices.SortFunc(c.Latest, func(a, b Latest) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Name, b.Name))
	})
	return c
}
