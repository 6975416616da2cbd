package panda

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
)

// pickle is a value in the first form that Python's module of this name reads: text, an operation a line. Some old calls
// are answered in it. It is written here and never read.
type pickle []byte

// pickle writes names as keys of dictionaries and numbers as ints.
func (t tally) pickle() pickle {
	var b bytes.Buffer
	t.pickleTo(&b)
	b.WriteByte('.')
	return b.Bytes()
}

func (t tally) pickleTo(b *bytes.Buffer) {
	b.WriteString("(d")
	for _, name := range slices.Sorted(maps.Keys(t)) {
		b.WriteByte('V')
		for _, r := range name {
			if r < ' ' || r > '~' || r == '\\' {
				fmt.Fprintf(b, `\U%08x`, r)
				continue
			}
			b.WriteRune(r)
		}
		b.WriteByte('\n')
		if below, ok := t[name].(tally); ok {
			below.pickleTo(b)
		} else {
			fmt.Fprintf(b, "I%d\n", t[name])
		}
		b.WriteByte('s')
	}
}
