package retry

import (
	"fmt"
	"time"

	policy "github.com/divvyhq/divvy/shares/retry"
)

// probesEnough is how many attempts must finish in a row before a hole gets jobs as before.
const probesEnough = 3

// BlackHoleStanding is a queue that fails nearly all that it gets, while the same kinds of jobs finish elsewhere.
type BlackHoleStanding struct {
	Since time.Time `json:"since"`
	Ends  int       `json:"ends" doc:"Attempts that had ended there lately when it was found."`
	Fails int       `json:"fails" doc:"Of these, those that failed or were lost."`
	Good  int       `json:"good" doc:"Attempts that finished since the last one that did not; after three it gets jobs as before."`
}

// Hole is a queue that fails nearly all that it gets. It gets one job at a time, now and then.
type Hole struct {
	BlackHoleStanding
	BadAt time.Time // when an attempt there failed or was lost last
}

// NewHole is a queue that was just found, by what ended there.
func NewHole(t Tally, now time.Time) Hole {
	return Hole{BlackHoleStanding{Since: now, Ends: t.Ends, Fails: t.Fails}, now}
}

// Note counts what ended there since the last look, see Counts.Probed. Attempts that finished count from the last failure on; one
// that ended in the same look as a failure does not count, as their order is not known.
func (h *Hole) Note(t Tally, now time.Time) {
	if t.Fails > 0 {
		h.Good, h.BadAt = 0, now
		return
	}
	h.Good += t.good()
}

// Over reports whether the queue works again: enough attempts finished there in a row, or it is busy and none failed for a window.
// Jobs of hours would keep it a hole for long otherwise.
func (h *Hole) Over(busy bool, window time.Duration, now time.Time) bool {
	return h.Good >= probesEnough || busy && h.BadAt.Before(now.Add(-window))
}

// Words says why the queue gets hardly any jobs.
func (s *BlackHoleStanding) Words(p *policy.Policy) string {
	every := ""
	if p != nil {
		every = fmt.Sprintf(" every %s", p.BlackHole.Probe)
	}
	return fmt.Sprintf("since %s it fails nearly all that it gets (%d of %d attempts), while the same kinds of jobs finish elsewhere: it gets one job%s until %d finish in a row",
		s.Since.UTC().Format(time.RFC3339), s.Fails, s.Ends, every, probesEnough)
}
