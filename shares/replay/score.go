package replay

import (
	"cmp"
	"slices"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// Decision is one as it was recorded.
type Decision struct {
	At      time.Time
	Daemon  int64
	Number  int64 // which one of the daemon
	Version int64 // of the site
	Job     int64
	Queue   shares.QueueID
	Share   shares.ShareID
	Deficit float32 // units
}

// Difference is a decision that goes to another share now.
type Difference struct {
	At         time.Time      `json:"at"`
	Daemon     int64          `json:"daemon"`
	Number     int64          `json:"turn" doc:"Which decision of its daemon it was."`
	Job        int64          `json:"job"`
	Queue      string         `json:"queue"`
	Share      string         `json:"share" doc:"Who was given the slot."`
	QueueID    shares.QueueID `json:"-"`
	ShareID    shares.ShareID `json:"-"`
	ShareNow   string         `json:"share_now" doc:"Who would be; empty: nobody."`
	Deficit    float64        `json:"deficit" doc:"As recorded: target minus held, in units, at the level where winner and runner-up part."`
	DeficitNow float64        `json:"deficit_now" doc:"The same of the one who would be."`
	Held       float64        `json:"held" doc:"What the share now would hold before it, in units."`
}

// Reason why decisions are not compared.
type Reason string

// The reasons.
const (
	Missing   Reason = "records of the stretch are missing"
	Claimed   Reason = "by another site, about jobs that hold claims: at which nodes these would be bound is not known"
	Gang      Reason = "given to jobs that start together, when all of them fitted on a node"
	NoVersion Reason = "their version of the site cannot be read"
	Unasked   Reason = "what their pulls asked for is not in the log"
	Kept      Reason = "about resources, of which units are kept for others for a time: what was kept is not in the log"
)

// Count is a number of decisions with the reason why they are not compared.
type Count struct {
	Reason    Reason `json:"reason"`
	Decisions int64  `json:"decisions"`
}

// Delivered is what a share held over the time that was replayed.
type Delivered struct {
	Pool     string         `json:"pool"`
	ID       shares.ShareID `json:"-"`
	Path     string         `json:"share"`
	Leaf     bool           `json:"leaf"`
	Recorded float64        `json:"recorded" doc:"Slot-hours that it held."`
	Now      float64        `json:"now" doc:"Slot-hours that it would have held; as recorded without another site."`
	Started  int64          `json:"started" doc:"Decisions for it, as recorded."`
	Starts   int64          `json:"starts_now" doc:"Decisions for it now."`
}

// Score is what came out.
type Score struct {
	From          time.Time    `json:"from,omitzero" doc:"Of the first decision that was compared; absent if none was."`
	Until         time.Time    `json:"until,omitzero" doc:"Of the last one."`
	Decisions     int64        `json:"decisions" doc:"In the stretch, with those that a sample stands for."`
	Compared      int64        `json:"compared"`
	Differences   int64        `json:"differences" doc:"Of those compared, given to another share now."`
	Drifts        int64        `json:"drifts" doc:"Given to the same share, but with other deficits or candidates than recorded; 0 unless another site was given."`
	NotComparable []Count      `json:"not_comparable" doc:"By reason."`
	First         []Difference `json:"first" doc:"The first differences."`
	Shares        []Delivered  `json:"shares"`
	Hours         float64      `json:"hours" doc:"Hours that the slot-hours are of."`
	Version       []int64      `json:"versions" doc:"Versions of the site in the stretch, each once."`
}

// Leave counts decisions that are not compared.
func (s *Score) Leave(why Reason, n int64) {
	s.Decisions += n
	for i := range s.NotComparable {
		if s.NotComparable[i].Reason == why {
			s.NotComparable[i].Decisions += n
			return
		}
	}
	s.NotComparable = append(s.NotComparable, Count{why, n})
	slices.SortFunc(s.NotComparable, func(a, b Count) int { return cmp.Compare(a.Reason, b.Reason) })
}

// Comparable is the part of the decisions that were compared, 0 … 1.
func (s *Score) Comparable() float64 { return float64(s.Compared) / float64(max(1, s.Decisions)) }

// Outcome is who gets a slot when its decision is made again.
type Outcome struct {
	Share   shares.ShareID // 0: none
	Path    string
	Deficit float64 // units
	Held    float64 // by it before
	Other   bool    // it is the share of the record, with another of its jobs
}

// Came counts a decision that was made again elsewhere.
func (s *Score) Came(d Decision, now Outcome, list int) {
	s.begin(d)
	switch {
	case now.Share != d.Share || now.Path == "":
		s.differ(Difference{At: d.At, Daemon: d.Daemon, Number: d.Number, Job: d.Job, Deficit: float64(d.Deficit), ShareNow: now.Path,
			DeficitNow: now.Deficit, Held: now.Held}, d, list)
	case now.Other:
		s.Drifts++
	}
}

func (s *Score) begin(d Decision) {
	s.Decisions++
	s.Compared++
	if s.From.IsZero() || d.At.Before(s.From) {
		s.From = d.At
	}
	if d.At.After(s.Until) {
		s.Until = d.At
	}
	if i, known := slices.BinarySearch(s.Version, d.Version); !known { // daemons come one after the other
		s.Version = slices.Insert(s.Version, i, d.Version)
	}
}

// differ counts a difference. Share and queue are names that the caller knows.
func (s *Score) differ(now Difference, d Decision, list int) {
	s.Differences++
	if len(s.First) < list {
		now.ShareID, now.QueueID = d.Share, d.Queue
		s.First = append(s.First, now)
	}
}
