package ready

import "iter"

// Buffer is the ready jobs of one share and shape.
type Buffer struct {
	key    Key
	ranges *ranges
	count  int64
}

// Key is whose jobs they are.
func (b *Buffer) Key() Key { return b.key }

// Count is how many jobs are ready.
func (b *Buffer) Count() int64 { return b.count }

// First is the range whose Low is the job that comes first; false if there is none.
func (b *Buffer) First() (Range, bool) {
	if r := b.ranges.first(); r != nil {
		return r.Range, true
	}
	return Range{}, false
}

// Ranges are all of them, in the order in which their jobs come.
func (b *Buffer) Ranges() iter.Seq[Range] {
	return func(yield func(Range) bool) {
		b.ranges.tree.Ascend(func(r *node) bool { return yield(r.Range) })
	}
}

// Ahead is how many jobs come before one at a place.
func (b *Buffer) Ahead(place, job int64) (n int64) {
	b.ranges.tree.Ascend(func(r *node) bool {
		switch {
		case r.Place > place || r.Place == place && r.Low >= job:
			return false
		case r.Place == place && r.High >= job:
			n += job - r.Low
			return false
		}
		n += r.Jobs()
		return true
	})
	return n
}
