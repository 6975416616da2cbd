package running

import "github.com/divvyhq/divvy/dispatcher/entry"

// names keeps each text once, as long as somebody has it.
type names struct {
	at   map[string]int32
	all  []name
	free []int32
}

type name struct {
	text string
	n    int
	jobs []int64 // of a node: that run there; of a request: that it was granted, in their order
}

func newNames() names { return names{at: map[string]int32{}} }

func (ns *names) keep(text string) int32 {
	at, ok := ns.at[text]
	if !ok {
		if last := len(ns.free) - 1; last >= 0 {
			at, ns.free = ns.free[last], ns.free[:last]
		} else {
			at, ns.all = int32(len(ns.all)), append(ns.all, name{})
		}
		ns.at[text], ns.all[at].text = at, text
	}
	ns.all[at].n++
	return at
}

func (ns *names) drop(at int32) {
	n := &ns.all[at]
	if n.n--; n.n == 0 {
		delete(ns.at, n.text)
		*n = name{}
		ns.free = append(ns.free, at)
	}
}

// jobs are those of a text that somebody has.
func (ns *names) jobs(text string) []int64 {
	if at, ok := ns.at[text]; ok {
		return ns.all[at].jobs
	}
	return nil
}

// nameOf is a request among names.
func nameOf(id entry.ID) string {
	if id == (entry.ID{}) {
		return ""
	}
	return string(id[:])
}

func (ls *Leases) requestOf(l *Run) (id entry.ID) {
	copy(id[:], ls.requests.all[l.request].text)
	return id
}
