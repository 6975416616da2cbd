package running

import (
	"maps"
	"slices"

	"github.com/google/btree"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// task is a task with leases.
type task struct {
	id    int64
	user  string
	n     int64                // leases
	kills *btree.BTreeG[*kill] // by low, without overlaps; nil: there are none
}

// kill cancels jobs, also those with leases. It stays until the last lease of the task has ended.
type kill struct {
	low, high int64
	order     Order
	idle      bool // attempts run to their end
}

// killDegree of the trees: most have one kill.
const killDegree = 4

// fewKilled is up to how many ids leases are looked for before a kill is kept.
const fewKilled = 64

// Kill cancels the jobs of a task with ids in a range. Their leases show it from now on; none of them is looked at.
func (ls *Leases) Kill(e entry.Killed) {
	t := ls.tasks[e.Task]
	if t == nil || e.High-e.Low < fewKilled && !ls.any(e.Task, e.Low, e.High) {
		return
	}
	if t.kills == nil {
		t.kills = btree.NewG(killDegree, func(a, b *kill) bool { return a.low < b.low })
	}
	t.kill(kill{e.Low, e.High, Order{e.Reason, e.GraceS}, e.Idle})
}

// Made notes that jobs were made just now: kills that name their ids are about others, before them.
func (ls *Leases) Made(id, low, high int64) {
	t := ls.tasks[id]
	if t == nil || t.kills == nil {
		return
	}
	for _, had := range t.meeting(low, high) {
		t.kills.Delete(had)
		t.keep(*had, had.low, low-1)
		t.keep(*had, high+1, had.high)
	}
}

// kill puts one over those that are there. Where these order the end of attempts and it does not, they stay.
func (t *task) kill(k kill) {
	at := k.low
	for _, had := range t.meeting(k.low, k.high) {
		t.kills.Delete(had)
		t.keep(*had, had.low, k.low-1)
		t.keep(*had, k.high+1, had.high)
		if k.idle && !had.idle {
			from, to := max(had.low, k.low), min(had.high, k.high)
			t.keep(k, at, from-1)
			t.keep(*had, from, to)
			at = to + 1
		}
	}
	t.keep(k, at, k.high)
}

// keep adds the part of a kill that has such ids, if there are any.
func (t *task) keep(k kill, low, high int64) {
	if low <= high {
		k.low, k.high = low, high
		t.kills.ReplaceOrInsert(&k)
	}
}

// meeting are the kills with some of the ids, in their order.
func (t *task) meeting(low, high int64) (list []*kill) {
	if k := t.killed(low); k != nil {
		low = k.low
	}
	t.kills.AscendGreaterOrEqual(&kill{low: low}, func(k *kill) bool {
		if k.low > high {
			return false
		}
		list = append(list, k)
		return true
	})
	return list
}

// killed is the kill of a job; nil: there is none.
func (t *task) killed(job int64) (found *kill) {
	if t.kills == nil {
		return nil
	}
	t.kills.DescendLessOrEqual(&kill{low: job}, func(k *kill) bool {
		if job <= k.high {
			found = k
		}
		return false
	})
	return found
}

// Becomes says what becomes of the job when the attempt ends, where a rule would say next: a killed job is not tried again.
func (l Lease) Becomes(outcome entry.Outcome, next entry.Next) entry.Next {
	switch {
	case !l.Killed:
		return next
	case outcome == entry.Finished:
		return entry.Over
	}
	return entry.Undone
}

// Saved is what a checkpoint has of leases beside them.
type Saved struct {
	Kills []entry.Killed `json:"kills,omitempty"`
	Homes []Home         `json:"homes,omitempty"`
}

// Home is leases of jobs that come back to another share than the one that pays: all of those with such ids.
type Home struct {
	Low   int64          `json:"low"`
	High  int64          `json:"high"`
	Share shares.ShareID `json:"share"`
}

// Save returns it.
func (ls *Leases) Save() (s Saved) {
	for _, id := range slices.Sorted(maps.Keys(ls.tasks)) {
		t := ls.tasks[id]
		if t.kills == nil {
			continue
		}
		t.kills.Ascend(func(k *kill) bool {
			s.Kills = append(s.Kills, entry.Killed{Task: id, Low: k.low, High: k.high, Reason: k.order.Reason, GraceS: k.order.GraceS, Idle: k.idle})
			return true
		})
	}
	for _, job := range ls.sorted() {
		switch l, n := ls.Run(job), len(s.Homes); {
		case l.Home == l.Share:
		case n > 0 && s.Homes[n-1].High == job-1 && s.Homes[n-1].Share == l.Home:
			s.Homes[n-1].High = job
		default:
			s.Homes = append(s.Homes, Home{job, job, l.Home})
		}
	}
	return s
}

// Remind puts back what a checkpoint has, when all leases are there.
func (ls *Leases) Remind(s Saved) {
	for _, e := range s.Kills {
		ls.Kill(e)
	}
	for _, h := range s.Homes {
		for job := h.Low; job <= h.High; job++ {
			if l := ls.Run(job); l != nil {
				l.Home = h.Share
			}
		}
	}
}
