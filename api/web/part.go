package web

import (
	"math"
	"strconv"
)

// part is what of its target a share holds, in whole percent: text, bar and colour all go by it, so that the table and the icicle
// never say different things. The script reads the text again (src/part.ts).
type part int

const (
	noTarget  part = -1 // and nothing held
	noneMeant part = -2 // held, with a target of 0
	tooMuch        = 110
)

func partOf(held, target float64) part {
	switch {
	case target > 0:
		return part(math.Round(min(100*held/target, 1e9)))
	case held > 0:
		return noneMeant
	}
	return noTarget
}

func (p part) text() string {
	switch p {
	case noTarget:
		return "–"
	case noneMeant:
		return "∞"
	}
	return group(strconv.Itoa(int(p))) + " %"
}

// over says whether more than a tenth too much is held.
func (p part) over() bool { return p == noneMeant || p > tooMuch }

// colour is the class of the share in the icicle: h0 to h10 for tenths, over, or off where there is no target.
func (p part) colour() string {
	switch {
	case p == noTarget:
		return "off"
	case p.over():
		return "over"
	}
	return "h" + strconv.Itoa(int(min(10, p/10)))
}

// bar is the class of the bar behind the text: p0 to p20, in twentieths, and over.
func (p part) bar() string {
	if p.over() {
		return "p20 over"
	}
	return "p" + strconv.Itoa(int((min(100, max(0, p))+2)/5))
}
