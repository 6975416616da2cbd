package web

import (
	"fmt"
	"hash/fnv"
	"html/template"
	"strconv"
	"strings"

	"github.com/divvyhq/divvy/dispatcher"
)

// colours is how many classes c0, c1 … the style sheet has for things without an order of their own; the one after them
// is for the rest.
const colours = 8

// stack is a bar of parts, 100 wide and 10 high, beside a sentence that says the same. Of each colour there is one path,
// so that a bar that changes has its figures changed and no elements.
type stack struct {
	Says  string
	Paths [colours + 1]string
}

// taken are the colours of a bar: neighbours differ as long as there are enough.
type taken [colours]bool

// next is a colour that is not taken, from the one that a name would have; that one when all are.
func (t *taken) next(first int) int {
	for i := range colours {
		if c := (first + i) % colours; !t[c] {
			t[c] = true
			return c
		}
	}
	return first
}

// colourOf is the same for the same name on every page, where no other name of a bar has it.
func colourOf(name string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return int(h.Sum32() % colours)
}

// add puts a part of n of whole behind what ends at from.
func (s *stack) add(from, n, whole int64, colour int) (to int64) {
	if n > 0 && whole > 0 {
		width := strconv.FormatFloat(100*float64(n)/float64(whole), 'f', 2, 64)
		s.Paths[colour] += "M" + strconv.FormatFloat(100*float64(from)/float64(whole), 'f', 2, 64) + " 0h" + width + "v10h-" + width + "z"
	}
	return from + n
}

// mostParts bounds what is drawn of a queue: a part of less than a pixel says nothing.
const mostParts = 12

// stackOf draws who holds the cores of a queue: of its slots where it has so many, else of what is held.
func stackOf(q dispatcher.QueueStanding, held []dispatcher.QueueHeld) (s stack) {
	whole := q.HeldCores
	if q.Slots != nil {
		whole = max(whole, int64(*q.Slots))
	}
	var says []string
	var taken taken
	at, rest := int64(0), q.HeldCores
	for _, h := range held[:min(len(held), mostParts)] {
		at = s.add(at, h.Cores, whole, taken.next(colourOf(h.Share)))
		says = append(says, h.Share+" "+count(h.Cores))
		rest -= h.Cores
	}
	if rest > 0 { // of smaller shares, or granted since those were asked for
		s.add(at, rest, whole, colours)
		says = append(says, "others "+count(rest))
	}
	switch {
	case len(says) == 0:
		s.Says = "nothing held"
	case q.Slots != nil:
		s.Says = fmt.Sprintf("%s of %s", strings.Join(says, ", "), count(*q.Slots))
	default:
		s.Says = strings.Join(says, ", ")
	}
	return s
}

// barOpen begins the drawing of a bar. What it says stands beside it.
const barOpen = `<svg class="stack" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">`

// Bar is the drawing of the bar under a key. It is written here and not by a template, since a page has a thousand of its parts;
// key and paths are letters and figures of this package.
func (s stack) Bar(key string) template.HTML {
	var b strings.Builder
	b.WriteString(barOpen)
	for i, d := range s.Paths {
		writePath(&b, "c"+strconv.Itoa(i), d, key+".d"+strconv.Itoa(i))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

func writePath(b *strings.Builder, class, d, key string) {
	b.WriteString(`<path class="`)
	b.WriteString(class)
	b.WriteString(`" d="`)
	b.WriteString(d)
	b.WriteString(`" data-live="`)
	b.WriteString(key)
	b.WriteString(`" data-live-attr="d"/>`)
}

// cells are the paths of a bar under a key, and its sentence.
func (s *stack) cells(key string, into map[string]string) {
	into[key+".says"] = s.Says
	for i, d := range s.Paths {
		into[key+".d"+strconv.Itoa(i)] = d
	}
}
