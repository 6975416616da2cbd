package wire

// Tally is numbers below names, level by level, as statistics are answered.
type Tally map[string]any

// Add counts n below a path of names.
func (t Tally) Add(n int64, path ...string) {
	last := len(path) - 1
	at := t.At(path[:last]...)
	had, _ := at[path[last]].(int64)
	at[path[last]] = had + n
}

// At is the level below a path of names, made where it is not there.
func (t Tally) At(path ...string) Tally {
	for _, name := range path {
		below, ok := t[name].(Tally)
		if !ok {
			below = Tally{}
			t[name] = below
		}
		t = below
	}
	return t
}

// Fill puts a zero wherever the last level lacks one of these names.
func (t Tally) Fill(names ...string) {
	leaf := true
	for _, v := range t {
		if below, ok := v.(Tally); ok {
			below.Fill(names...)
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
