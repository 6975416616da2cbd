package shares

import (
	"math"
	"time"
)

// Layout of a place under aging with a bound: bands of priorities, and milliseconds within a band.
const (
	bandSpan  = 1 << 47 // milliseconds: 4400 years, so that no time leads from one band to the next
	mostBands = 1 << 14 // either way; all further priorities are alike
)

// Place is the place of a job in the ready order of its share, the lowest first; among equals the older id goes
// first. A job keeps it for life: also when it comes back to ready, so that it has lost nothing.
//
// Without aging it is −priority. With aging the order is by priority·per/points − ready_since, largest first: a
// job passes another of a higher priority when it has waited per/points longer for each point between them, and
// since both go on waiting that never changes. The place is that figure's opposite in milliseconds.
//
// Max needs a bound that does not depend on when it is looked at either, and is an order: priorities are cut into
// bands of Max points, [0, Max), [Max, 2·Max), …, jobs pass each other within a band only. So no job ever passes one
// that is Max points or more above it, however long it waits.
//
// Places with aging and without don't compare: those of jobs that were ready before aging was switched on or off
// must be made anew, or they go first or last.
func (a *Aging) Place(priority int, readySince time.Time) int64 {
	if a == nil {
		return -int64(priority)
	}
	band, within := 0, priority
	if a.Max > 0 {
		band = int(math.Floor(float64(priority) / float64(a.Max)))
		within = priority - band*a.Max
	}
	if band <= -mostBands || band >= mostBands {
		band, within = min(max(band, -mostBands), mostBands), 0
	}
	point := float64(time.Duration(a.Per).Milliseconds()) / float64(a.Points)
	head := math.Round(float64(within) * point)
	within64 := readySince.UnixMilli() - int64(min(max(head, -bandSpan/4), bandSpan/4))
	return within64 - int64(band)*bandSpan
}
