package slurm

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxArray is the most pieces of an array, and its largest index.
const MaxArray = 1_000_000

// Run is a run of indices: First, First+Step, …, N of them.
type Run struct{ First, Step, N int64 }

// Array are the indices of an array, ascending.
type Array struct {
	Runs  []Run
	Limit int // most pieces at once; 0 = no limit
}

var errArray = errors.New("Invalid job array specification")

// ParseArray reads 1-5, 1-3,7, 1-9:2 or 1-3%2.
func ParseArray(text string) (a Array, err error) {
	list, limit, limited := strings.Cut(text, "%")
	if limited {
		if a.Limit, err = count("array", limit); err != nil {
			return Array{}, errArray
		}
	}
	var all []Run
	total := int64(0)
	for part := range strings.SplitSeq(list, ",") {
		r, err := parseRun(part)
		if err != nil {
			return Array{}, err
		}
		if total += r.N; total > MaxArray {
			return Array{}, errArray
		}
		all = append(all, r)
	}
	a.Runs = ordered(all)
	return a, nil
}

func parseRun(part string) (Run, error) {
	span, step, stepped := strings.Cut(part, ":")
	first, last, ranged := strings.Cut(span, "-")
	if !ranged {
		last = first
	}
	if !stepped {
		step = "1"
	}
	var n [3]int64
	for i, text := range []string{first, last, step} {
		v, err := strconv.ParseUint(text, 10, 31)
		if err != nil || v > MaxArray {
			return Run{}, errArray
		}
		n[i] = int64(v)
	}
	if n[1] < n[0] || n[2] == 0 || stepped && !ranged {
		return Run{}, errArray
	}
	return Run{n[0], n[2], (n[1]-n[0])/n[2] + 1}, nil
}

// ordered makes runs ascend and not overlap: an index that is given twice is one piece, as in Slurm.
func ordered(runs []Run) []Run {
	slices.SortFunc(runs, func(a, b Run) int { return int(a.First - b.First) })
	apart := true
	for i := 1; i < len(runs); i++ {
		apart = apart && runs[i-1].last() < runs[i].First
	}
	if apart {
		return joined(runs)
	}
	var ids []int64
	for _, r := range runs {
		for k := range r.N {
			ids = append(ids, r.First+k*r.Step)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	runs = nil
	for _, id := range ids {
		runs = append(runs, Run{id, 1, 1})
	}
	return joined(runs)
}

func (r Run) last() int64 { return r.First + (r.N-1)*r.Step }

// joined makes one run of neighbours, so that an array has one spelling.
func joined(runs []Run) (out []Run) {
	for _, r := range runs {
		if r.N == 1 {
			r.Step = 1
		}
		if n := len(out); n > 0 && out[n-1].Step == 1 && r.Step == 1 && out[n-1].last()+1 == r.First {
			out[n-1].N += r.N
			continue
		}
		out = append(out, r)
	}
	return out
}

// Len is how many pieces there are.
func (a Array) Len() (n int64) {
	for _, r := range a.Runs {
		n += r.N
	}
	return n
}

// ID returns the index of the i-th piece, counted from 0.
func (a Array) ID(i int64) int64 {
	for _, r := range a.Runs {
		if i < r.N {
			return r.First + i*r.Step
		}
		i -= r.N
	}
	return i
}

// Find is the reverse of ID.
func (a Array) Find(id int64) (i int64, ok bool) {
	for _, r := range a.Runs {
		if id >= r.First && id <= r.last() && (id-r.First)%r.Step == 0 {
			return i + (id-r.First)/r.Step, true
		}
		i += r.N
	}
	return 0, false
}

// Bounds are the least and the largest index.
func (a Array) Bounds() (least, largest int64) {
	if len(a.Runs) == 0 {
		return 0, 0
	}
	return a.Runs[0].First, a.Runs[len(a.Runs)-1].last()
}

// Step is the distance between indices, where it is the same everywhere; else 1.
func (a Array) Step() int64 {
	if len(a.Runs) == 1 {
		return a.Runs[0].Step
	}
	return 1
}

// String writes the array as --array has it.
func (a Array) String() string {
	var b strings.Builder
	for i, r := range a.Runs {
		if i > 0 {
			b.WriteByte(',')
		}
		switch {
		case r.N == 1:
			fmt.Fprintf(&b, "%d", r.First)
		case r.Step == 1:
			fmt.Fprintf(&b, "%d-%d", r.First, r.last())
		default:
			fmt.Fprintf(&b, "%d-%d:%d", r.First, r.last(), r.Step)
		}
	}
	if a.Limit > 0 {
		fmt.Fprintf(&b, "%%%d", a.Limit)
	}
	return b.String()
}

// Of returns the array of some indices, with the limit of a.
func (a Array) Of(ids []int64) Array {
	runs := make([]Run, len(ids))
	for i, id := range ids {
		runs[i] = Run{id, 1, 1}
	}
	return Array{Runs: ordered(runs), Limit: a.Limit}
}
