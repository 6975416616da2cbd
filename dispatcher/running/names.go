package running

// names keeps each text once, as long as somebody has it.
type names struct {
	at   map[string]int32
	all  []name
	free []int32
}

type name struct {
	text string
	n    int
	jobs []int64 // of a node: that run there
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
