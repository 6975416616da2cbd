package retry

import (
	"fmt"
	"time"

	policy "github.com/divvyhq/divvy/shares/retry"
)

// ProbesEnough is how many attempts must finish in a row before a hole gets jobs as before.
const ProbesEnough = 3

// Standing is what is known of a hole.
type Standing struct {
	Since time.Time
	Ends  int // attempts that had ended there when it was found
	Fails int // of these, those that failed or were lost
	Good  int // that finished since the last one that did not
}

// Hole is a queue that fails nearly all that it gets. It gets one job at a time, when it is its turn.
type Hole struct {
	Standing
	BadAt    time.Time // when an attempt there failed or was lost last
	ProbedAt time.Time // when it was given its turn last
	wanted   bool      // a pull has asked for the next probe
	turn     bool      // the next probe may be given
}

// NewHole is a queue that was just found, by what ended there.
func NewHole(t Tally, now time.Time) *Hole {
	return &Hole{Standing: Standing{Since: now, Ends: t.Ends, Fails: t.Fails}, BadAt: now, ProbedAt: now}
}

// Note counts what ended there since the last look, see Counts.Probed. Attempts that finished count from the last failure on; one
// that ended in the same look as a failure does not count, as their order is not known.
func (h *Hole) Note(t Tally, now time.Time) {
	if t.Fails > 0 {
		h.Good, h.BadAt = 0, now
		return
	}
	h.Good += t.Good()
}

// Over reports whether the queue works again: enough attempts finished there in a row, or it is busy and none failed for a window.
// Jobs of hours would keep it a hole for long otherwise.
func (h *Hole) Over(busy bool, window time.Duration, now time.Time) bool {
	return h.Good >= ProbesEnough || busy && h.BadAt.Before(now.Add(-window))
}

// Turn gives the hole its turn where a pull wants one and the last one is longer ago than that. It reports whether it did.
func (h *Hole) Turn(every time.Duration, now time.Time) bool {
	if !h.Wants() || !h.ProbedAt.Before(now.Add(-every)) {
		return false
	}
	h.ProbedAt = now
	h.Give()
	return true
}

// Words says why the queue gets hardly any jobs.
func (s Standing) Words(p *policy.Policy) string {
	every := ""
	if p != nil {
		every = fmt.Sprintf(" every %s", p.BlackHole.Probe)
	}
	return fmt.Sprintf("since %s it fails nearly all that it gets (%d of %d attempts), while the same kinds of jobs finish elsewhere: it gets one job%s until %d finish in a row",
		s.Since.UTC().Format(time.RFC3339), s.Fails, s.Ends, every, ProbesEnough)
}

// Ask reports whether a pull may have a job now, as a probe, and notes that one is wanted where it may not.
func (h *Hole) Ask() bool {
	h.wanted = h.wanted || !h.turn
	return h.turn
}

// Wants reports whether a pull has asked in vain since the last probe.
func (h *Hole) Wants() bool { return h.wanted && !h.turn }

// Give gives the hole its turn: the next pull has a job.
func (h *Hole) Give() { h.turn = true }

// Given ends the turn: a pull has had its job.
func (h *Hole) Given() { h.turn, h.wanted = false, false }
