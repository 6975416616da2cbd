package chain

import (
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/stored"
)

// evenCut is how a task is cut into pieces of one size: piece i is what lies from i*perJob on, of total.
type evenCut struct {
	split  string
	perJob int64
	total  int64
}

func evenCutOf(w spec.Work) evenCut {
	return evenCut{split: w.Split, perJob: w.PerJob, total: cutTotal(w.Split, w.Events, w.NInputs, w.Pieces)}
}

// cutTotal is how many events, inputs or jobs a task has.
func cutTotal(split string, events, inputs, pieces int64) int64 {
	switch split {
	case "events":
		return events
	case "inputs":
		return inputs
	}
	return pieces
}

// what there is total of.
func (c evenCut) what() string {
	switch c.split {
	case "events", "inputs":
		return c.split
	case "matrix":
		return "combinations"
	}
	return "jobs"
}

// pieces that have a part of what piece i of another cut of the same has.
func (c evenCut) pieces(i int64, of evenCut) stored.Span {
	low, high := i*of.perJob, min((i+1)*of.perJob, of.total)
	return stored.Span{Low: low / c.perJob, High: spec.Ceil(high, c.perJob)}
}

// bitmap is a set of indexes of pieces, in chunks as need_pieces has them.
type bitmap map[int64][]byte

// chunkBits are the indexes of one chunk; need_pieces has its CHECK.
const chunkBits = 8192

func (b bitmap) has(i int64) bool {
	c := b[i/chunkBits]
	return c != nil && c[i%chunkBits/8]&(1<<(i%8)) != 0
}

// add reports whether i is new.
func (b bitmap) add(i int64) bool {
	if b.has(i) {
		return false
	}
	c := b[i/chunkBits]
	if c == nil {
		c = make([]byte, chunkBits/8)
		b[i/chunkBits] = c
	}
	c[i%chunkBits/8] |= 1 << (i % 8)
	return true
}

// remove makes i none of it.
func (b bitmap) remove(i int64) {
	if b.has(i) {
		b[i/chunkBits][i%chunkBits/8] &^= 1 << (i % 8)
	}
}

// all says whether it has a whole span.
func (b bitmap) all(s stored.Span) bool {
	for i := s.Low; i < s.High; i++ {
		if !b.has(i) {
			return false
		}
	}
	return true
}
