package panda

// tally is numbers below names, level by level, as statistics are answered.
type tally map[string]any

// add counts n below a path of names.
func (t tally) add(n int64, path ...string) {
	last := len(path) - 1
	at := t.at(path[:last]...)
	had, _ := at[path[last]].(int64)
	at[path[last]] = had + n
}

// at is the level below a path of names, made where it is not there.
func (t tally) at(path ...string) tally {
	for _, name := range path {
		below, ok := t[name].(tally)
		if !ok {
			below = tally{}
			t[name] = below
		}
		t = below
	}
	return t
}

// fill puts a zero wherever the last level lacks one of these names.
func (t tally) fill(names ...string) {
	leaf := true
	for _, v := range t {
		if below, ok := v.(tally); ok {
			below.fill(names...)
			leaf = false
		}
	}
	if !leaf {
		return
	}
	for _, name := range names {
		if _, there := t[name]; !there {
			t[name] = int64(0)
		}
	}
}
