package strict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one fault of a file and where it is. Line and Column count from 1; a Line of 0 means the file as
// a whole.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty" doc:"What to do about it."`
}

// Place is file:line:column, or the file alone.
func (p Problem) Place() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// String is file:line:column: message (hint).
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Place())
	b.WriteString(": ")
	b.WriteString(p.Message)
	if p.Hint != "" {
		fmt.Fprintf(&b, " (%s)", p.Hint)
	}
	return b.String()
}

// Problems is every fault of a file, in file order. As an error it is one line each.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// maxProblems bounds the problems of one file: people do not read more, and the check stops.
const maxProblems = 100

// Report gathers the problems of one file.
type Report struct {
	file     string
	problems Problems
	places   map[[2]int]bool  // line, column
	known    map[Problem]bool // a value behind an alias is read more than once
	limits   Limits
	left     int // values that may still be read
}

// Full reports whether the bound is reached, so that a check can stop.
func (r *Report) Full() bool { return len(r.problems) >= maxProblems }

// Add reports a fault of the file as a whole.
func (r *Report) Add(message, hint string) { r.at(0, 0, message, hint) }

func (r *Report) at(line, column int, message, hint string) {
	if r.left < 0 || r.Full() {
		return // the rest was not read: what is missing there is no problem
	}
	p := Problem{File: r.file, Line: line, Column: column, Message: message, Hint: hint}
	r.places[[2]int{line, column}] = true
	if !r.known[p] {
		r.known[p] = true
		r.problems = append(r.problems, p)
	}
}

// force is at for what must be said whatever was said before.
func (r *Report) force(line, column int, message, hint string) {
	r.problems = append(r.problems, Problem{File: r.file, Line: line, Column: column, Message: message, Hint: hint})
}

// Err is nil, or all problems so far as Problems.
func (r *Report) Err() error {
	if len(r.problems) == 0 {
		return nil
	}
	ps := slices.Clone(r.problems)
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if r.Full() {
		ps = append(ps, Problem{File: r.file, Message: fmt.Sprintf("these are the first %d problems; the rest was not looked at", maxProblems)})
	}
	return ps
}

// Closest is the option that word was probably meant to be, or "": one slip in three letters, none in fewer.
func Closest(word string, options []string) string {
	best, bestDistance := "", len(word)/3+1
	for _, o := range options {
		if d := distance(strings.ToLower(word), strings.ToLower(o)); d < bestDistance {
			best, bestDistance = o, d
		}
	}
	return best
}

// DidYouMean is a hint: the closest option if there is one, else all of them.
func DidYouMean(word string, options []string) string {
	if c := Closest(word, options); c != "" {
		return fmt.Sprintf("did you mean %q?", c)
	}
	if len(options) == 0 || len(options) > 40 {
		return ""
	}
	return "known: " + strings.Join(options, ", ")
}

// distance is the number of letters to insert, delete, replace or swap with their neighbour that turns a into b.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
