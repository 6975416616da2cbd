package spec

import (
	"fmt"
	"slices"
	"strings"
)

// fileFault is a Fault of one of the tasks of a file.
type fileFault struct {
	doc int
	Fault
}

// Order says in which order the tasks of a file are submitted: each behind those that it needs by name, and otherwise as they
// stand there. The error is Faults: names that no other task of the file has, or more than one, and circles.
func Order(specs []Spec) ([]int, error) {
	order, faults := order(specs)
	var all Faults
	for _, f := range faults {
		all = append(all, f.Fault)
	}
	return order, all.Err()
}

// Bound is the task with ids in place of the names of tasks of its file.
func (s Spec) Bound(ids map[string]int64) Spec {
	s.Needs = slices.Clone(s.Needs)
	for i := range s.Needs {
		if n := &s.Needs[i]; n.Name != "" {
			n.Task, n.Name = ids[n.Name], ""
		}
	}
	return s
}

func fileFaults(specs []Spec) []fileFault {
	_, faults := order(specs)
	return faults
}

// order goes through the tasks depth first, so that what a task needs comes before it.
func order(specs []Spec) ([]int, []fileFault) {
	w := fileWalk{specs: specs, byName: map[string][]int{}, state: make([]walkState, len(specs))}
	for i, s := range specs {
		w.byName[s.Name] = append(w.byName[s.Name], i)
	}
	for i := range specs {
		w.visit(i)
	}
	return w.order, w.faults
}

type walkState byte

const (
	unvisited walkState = iota
	onTheWay
	visited
)

// fileWalk is on its way through the tasks of a file.
type fileWalk struct {
	specs  []Spec
	byName map[string][]int
	state  []walkState
	way    []int // from the task that the walk began at to the one that it is at
	next   []int // need of each task of the way to go on with
	order  []int
	faults []fileFault
}

// visit goes from task i to all that it needs. The way is kept in a slice: a chain may be as long as the file.
func (w *fileWalk) visit(i int) {
	w.enter(i)
	for len(w.way) > 0 {
		k := len(w.way) - 1
		at, need := w.way[k], w.next[k]
		if need == len(w.specs[at].Needs) {
			w.state[at], w.order = visited, append(w.order, at)
			w.way, w.next = w.way[:k], w.next[:k]
			continue
		}
		w.next[k]++
		if to, ok := w.needed(at, need); ok {
			w.enter(to)
		}
	}
}

func (w *fileWalk) enter(i int) {
	if w.state[i] == unvisited {
		w.state[i], w.way, w.next = onTheWay, append(w.way, i), append(w.next, 0)
	}
}

// needed is the task of the file that a need is about; false where there is none, or nothing good would come of it.
func (w *fileWalk) needed(at, need int) (to int, ok bool) {
	n := w.specs[at].Needs[need]
	if n.Name == "" {
		return 0, false
	}
	same := w.byName[n.Name]
	var message, hint string
	switch {
	case len(same) == 0:
		message, hint = fmt.Sprintf("no task of this file has the name %q", n.Name), "of a task that was submitted before say the id"
	case len(same) > 1:
		message, hint = fmt.Sprintf("%d tasks of this file have the name %q", len(same), n.Name), "give them different names"
	case w.state[same[0]] == onTheWay:
		message, hint = "makes a circle: "+w.circle(same[0]), "of two tasks one comes first"
	default:
		return same[0], true
	}
	w.faults = append(w.faults, fileFault{doc: at, Fault: Fault{Field: fmt.Sprintf("needs[%d].task", need), Message: message, Hint: hint}})
	return 0, false
}

// circle names the tasks of the way from one on, and that one again.
func (w *fileWalk) circle(from int) string {
	const most = 10
	var names []string
	for _, i := range append(w.way[slices.Index(w.way, from):], from) {
		names = append(names, w.specs[i].Name)
	}
	if len(names) > most {
		names = slices.Concat(names[:most/2], []string{"…"}, names[len(names)-most/2:])
	}
	return strings.Join(names, " needs ")
}
