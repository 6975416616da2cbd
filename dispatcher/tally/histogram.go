package tally

import (
	"slices"
	"sort"
)

// Bounds of the histograms: the largest value of each bucket but the last.
var (
	AppendBounds   = powers(0.0005, 2, 14)
	GrantBounds    = powers(1, 2, 10)
	TogetherBounds = powers(1, 4, 6)
	DecideBounds   = powers(0.00005, 4, 8)
	PullBounds     = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30, 300}
	AgeBounds      = []float64{1, 5, 15, 30, 45, 60, 90, 120, 180, 240, 600}
	WaitBounds     = []float64{.1, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 3 * 24 * 3600, 7 * 24 * 3600}
)

func powers(first, factor float64, n int) (list []float64) {
	for range n {
		list = append(list, first)
		first *= factor
	}
	return list
}

// Histogram counts values by bucket.
type Histogram struct {
	Counts []uint64 // by bucket; the last one has what is above all bounds. None: nothing was counted
	Sum    float64
}

func (h *Histogram) observe(bounds []float64, v float64) {
	if h.Counts == nil {
		h.Counts = make([]uint64, len(bounds)+1)
	}
	h.Counts[sort.SearchFloat64s(bounds, v)]++
	h.Sum += v
}

func (h *Histogram) add(o Histogram) {
	h.Sum += o.Sum
	if h.Counts == nil {
		h.Counts = slices.Clone(o.Counts)
		return
	}
	for i, n := range o.Counts {
		h.Counts[i] += n
	}
}
