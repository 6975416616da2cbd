package ready

import (
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

// Ages says which jobs were made so long ago that they are remote nowhere. How old a job is follows from its id: ids rise with
// time, so it is enough to know which was the highest one some time ago.
type Ages struct {
	Newest int64 // id that was seen
	marks  []idMark
	UpTo   int64 // jobs up to this one are elder
}

// idMark says that a job with the id, or a higher one, was there.
type idMark struct {
	id int64
	at time.Time
}

// marksKept is how many marks there are in the time that jobs are remote: it may be longer by one part.
const marksKept = 8

// Saw notes the id of a job that became ready.
func (e *Ages) Saw(id int64) { e.Newest = max(e.Newest, id) }

// Look marks the newest job, and finds out which are elder now.
func (e *Ages) Look(now time.Time, wait time.Duration) {
	if n := len(e.marks); n == 0 || now.Sub(e.marks[n-1].at) >= wait/marksKept {
		e.marks = append(e.marks, idMark{e.Newest, now})
	}
	for len(e.marks) > 0 && now.Sub(e.marks[0].at) >= wait {
		e.UpTo = max(e.UpTo, e.marks[0].id)
		e.marks = e.marks[1:]
	}
}

// Save is what others have to know of it.
func (e *Ages) Save() entry.Elders {
	saved := entry.Elders{Newest: e.Newest, UpTo: e.UpTo}
	for _, mark := range e.marks {
		saved.IDs, saved.Times = append(saved.IDs, mark.id), append(saved.Times, mark.at)
	}
	return saved
}

// AgesOf is what was saved.
func AgesOf(saved entry.Elders) Ages {
	e := Ages{Newest: saved.Newest, UpTo: saved.UpTo}
	for i, id := range saved.IDs {
		e.marks = append(e.marks, idMark{id, saved.Times[i]})
	}
	return e
}
