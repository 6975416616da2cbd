package ready

import (
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

// Ages says which jobs were made so long ago that they are remote nowhere. How old a job is follows from its id: ids rise with
// time, so it is enough to know which was the highest one some time ago. Jobs up to UpTo are elder; each mark, of IDs and Times, says
// that a job with the id, or a higher one, was there.
type Ages struct{ entry.Elders }

// marksKept is how many marks there are in the time that jobs are remote: it may be longer by one part.
const marksKept = 8

// Saw notes the id of a job that became ready.
func (e *Ages) Saw(id int64) { e.Newest = max(e.Newest, id) }

// Look marks the newest job, and finds out which are elder now.
func (e *Ages) Look(now time.Time, wait time.Duration) {
	if n := len(e.Times); n == 0 || now.Sub(e.Times[n-1]) >= wait/marksKept {
		e.IDs, e.Times = append(e.IDs, e.Newest), append(e.Times, now)
	}
	for len(e.Times) > 0 && now.Sub(e.Times[0]) >= wait {
		e.UpTo = max(e.UpTo, e.IDs[0])
		e.IDs, e.Times = e.IDs[1:], e.Times[1:]
	}
}

// Save is what others have to know of it.
func (e *Ages) Save() entry.Elders { return AgesOf(e.Elders).Elders }

// AgesOf are those that were saved, which stays as it is.
func AgesOf(saved entry.Elders) Ages {
	saved.IDs, saved.Times = slices.Clone(saved.IDs), slices.Clone(saved.Times)
	return Ages{saved}
}
