package e2e

import (
	"cmp"
	"slices"
	"testing"
	"time"
)

// slack is what may lie, on a busy machine, between the moment that the database writes down (the begin of a
// transaction) and the one at which others see it; and how long a job may be promised to a pull whose grant then falls
// through, until it is looked for again.
const slack = time.Second

// readySpan is a time in which a job was ready and nobody's.
type readySpan struct {
	job      int64
	share    string
	from, to int64 // ns
	cores    int
}

// spans lists them all, from the database's record, without those of jobs that may wait for units of a resource.
func (r record) spans(tasks map[int64]work) (all []readySpan) {
	for _, j := range r.jobs {
		if w := tasks[j.TaskID]; w.resources != nil || w.claimed != "" {
			continue
		}
		from := j.CreatedAt
		for _, a := range r.attempts[j.ID] {
			if at := r.ready[try{j.ID, a.Attempt}]; at.After(from) {
				from = at
			}
			all = append(all, readySpan{j.ID, j.Share, from.UnixNano(), a.ClaimedAt.UnixNano(), tasks[j.TaskID].coresOf()})
			from = a.EndedAt
		}
	}
	return all
}

// usage is how much of a hard limit was held over time: changes, in order.
type usage struct {
	at   []int64
	held []int
}

func usageOf(attempts map[int64][]attempt, counts func(attempt) bool) (u usage) {
	type change struct {
		at int64
		by int
	}
	var all []change
	for _, of := range attempts {
		for _, a := range of {
			if counts(a) {
				all = append(all, change{a.ClaimedAt.UnixNano(), a.Cores}, change{a.EndedAt.UnixNano(), -a.Cores})
			}
		}
	}
	slices.SortFunc(all, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	held := 0
	for _, c := range all {
		held += c.by
		u.at, u.held = append(u.at, c.at), append(u.held, held)
	}
	return u
}

// most is the largest amount held between two moments.
func (u usage) most(from, to int64) int {
	i, _ := slices.BinarySearch(u.at, from)
	most := 0
	if i > 0 {
		most = u.held[i-1]
	}
	for ; i < len(u.at) && u.at[i] <= to; i++ {
		most = max(most, u.held[i])
	}
	return most
}

// unrecorded is a time of which the record does not say who had jobs, as grants were lost with a server.
type unrecorded struct{ from, to int64 }

// hides says whether a job may have been in somebody's hands between two moments, whatever the record says.
func (u unrecorded) hides(from, to int64) bool { return from <= u.to && u.from <= to }

// refusals checks every 204: was there a job, ready from before the pull until after the answer, that the slot could
// run and every hard limit admitted all the time? What was granted and then lost with a server was in somebody's hands all the same.
func (s *storm) refusals(t *testing.T, r record, tasks map[int64]work) (wrong int) {
	t.Helper()
	test := usageOf(r.attempts, func(a attempt) bool { return a.Share == "Test" })
	small := usageOf(r.attempts, func(a attempt) bool { return a.Queue == "SMALL" })
	taskOf := map[int64]int64{}
	for _, j := range r.jobs {
		taskOf[j.ID] = j.TaskID
	}
	spans := r.spans(tasks)
	for _, no := range s.no {
		from, to := no.from-int64(slack), no.to+int64(slack)
		for _, span := range spans {
			if span.from > from || span.to < to || s.lost.hides(from, to) || !tasks[taskOf[span.job]].runsAt(no.queue) {
				continue
			}
			if span.share == "Test" && test.most(from, to)+span.cores > testMax ||
				no.queue == "SMALL" && small.most(from, to)+span.cores > smallSlots {
				continue
			}
			if wrong++; wrong <= 5 {
				t.Errorf("pilot %s in %s asked %s from %s (wait %s) to %s: no job; job %d of %s was ready from %s to %s", no.pilot, no.queue,
					no.daemon, clock(no.from), no.wait, clock(no.to), span.job, span.share, clock(span.from), clock(span.to))
			}
			break
		}
	}
	t.Logf("%d refusals, held against %d spans of ready jobs: %d while eligible", len(s.no), len(spans), wrong)
	if m := test.most(0, never); m > testMax {
		t.Errorf("share Test held %d of %d", m, testMax)
	}
	if m := small.most(0, never); m > smallSlots {
		t.Errorf("queue SMALL held %d of %d", m, smallSlots)
	}
	return wrong
}

func clock(ns int64) string { return time.Unix(0, ns).Format("15:04:05.000") }
