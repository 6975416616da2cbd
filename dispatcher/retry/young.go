package retry

import (
	"cmp"
	"slices"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// Young keeps the attempts among which a round chooses, so that all that runs is looked at once: of each share the
// youngest ones at each queue.
type Young struct {
	cores map[shares.QueueID]int64 // of the narrowest job that asks for a queue
	least []time.Duration          // that candidates have run at least, by the terms of asks
	kept  map[youngKey]*youngest
}

type youngKey struct {
	share shares.ShareID
	queue shares.QueueID
	cores int64
	least time.Duration
}

// youngest has up to twice MostOrders candidates, so that they are sorted rarely.
type youngest struct {
	list  []Candidate
	bound time.Duration // as many are younger; 0: it is not known yet
}

// NewYoung is for some asks.
func NewYoung(asks []Ask) *Young {
	y := &Young{cores: map[shares.QueueID]int64{}, kept: map[youngKey]*youngest{}}
	for _, a := range asks {
		for _, q := range a.Queues {
			if had, ok := y.cores[q]; !ok || a.Cores < had {
				y.cores[q] = a.Cores
			}
		}
		if least := time.Duration(a.Back.Terms.MinRuntime); !slices.Contains(y.least, least) {
			y.least = append(y.least, least)
		}
	}
	return y
}

// Wants says whether jobs that are so wide at a queue may be candidates.
func (y *Young) Wants(queue shares.QueueID, cores int64) bool {
	narrowest, ok := y.cores[queue]
	return ok && cores >= narrowest
}

// Add adds an attempt that runs and is not to end already, if Wants says so.
func (y *Young) Add(c Candidate) {
	for _, least := range y.least {
		if c.Age < least {
			continue
		}
		key := youngKey{c.ShareID, c.QueueID, c.Cores, least}
		of := y.kept[key]
		if of == nil {
			of = &youngest{}
			y.kept[key] = of
		}
		of.add(c)
	}
}

func (of *youngest) add(c Candidate) {
	if of.bound > 0 && c.Age > of.bound {
		return
	}
	if of.list = append(of.list, c); len(of.list) == 2*MostOrders {
		slices.SortFunc(of.list, younger)
		of.list = of.list[:MostOrders]
		of.bound = of.list[MostOrders-1].Age
	}
}

// younger compares attempts of a share: of those of the same age the one whose job was made later is younger.
func younger(a, b Candidate) int {
	return cmp.Or(cmp.Compare(a.Age, b.Age), -cmp.Compare(a.JobID, b.JobID))
}

// Among returns the candidates for an ask: as wide as the claimer's job, at queues where that may run, old enough, and of each share so
// many, the youngest ones.
func (y *Young) Among(a Ask, most int) (some []Candidate) {
	for key, of := range y.kept {
		if key.share != a.Share && key.cores >= a.Cores && key.least == time.Duration(a.Back.Terms.MinRuntime) && slices.Contains(a.Queues, key.queue) {
			some = append(some, of.list...)
		}
	}
	slices.SortFunc(some, func(a, b Candidate) int { return cmp.Or(cmp.Compare(a.ShareID, b.ShareID), younger(a, b)) })
	var share shares.ShareID
	nth := 0
	return slices.DeleteFunc(some, func(c Candidate) bool {
		if c.ShareID != share {
			share, nth = c.ShareID, 0
		}
		nth++
		return nth > most
	})
}
