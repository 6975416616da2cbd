package lease

import "time"

// State is how far a pilot is with an attempt, by its own word.
type State byte

// The states of an attempt, in the order in which they follow each other.
const (
	Granted State = iota
	Starting
	Running
	Draining
)

// Seen is what a pilot last said of an attempt. It is in the memory of the leader alone: a new one knows it after a round of renewals.
type Seen struct {
	Job      int64
	At       time.Time // about, by the log's clock; zero: nothing was said
	State    State
	CPUMilli int64
	MemoryMB int64
}

// seen is Seen as it is kept: some fifty bytes a lease.
type seen struct {
	cpuMilli int64
	memoryMB int32
	at       int32 // second of the daemon's clock
	state    State
}

// words are what pilots last said, by job.
type words map[int64]seen

// note takes a renewal. A pilot that says nothing of its state is where it was, or has begun.
func (w words) note(r *Renewal, now time.Duration) {
	w[r.Key.Job] = seen{r.CPUMilli, int32(min(r.MemoryMB, 1<<31-1)), int32(now / time.Second), max(r.State, w[r.Key.Job].state)}
}

// tell answers what pilots last said.
func (w words) tell(l *leader, a *Ask) {
	out := make([]Seen, len(a.Seen))
	for i, job := range a.Seen {
		out[i].Job = job
		if s, ok := w[job]; ok {
			out[i] = Seen{job, l.clock(time.Duration(s.at) * time.Second), s.state, s.cpuMilli, int64(s.memoryMB)}
		}
	}
	l.answer(a.Call, Answer{Seen: out, Seq: l.tip.seq})
}
