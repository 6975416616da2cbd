package shares

// IO is the name of the resource that stands for what running jobs read and write, in kB/s. No file has it: it follows from
// the queues that have a MaxIO, each of which has units of its own; at the others there is no bound.
const IO = "io"

// NoBound is the capacity of a resource at queues where it is not bounded: more than all jobs together can hold.
const NoBound = 1 << 50

// Everybody is the only ID of a resource that is not split over IDs: shares and priority decide on its units.
const Everybody = "everybody"

// ioOf is the resource IO of a site with these queues.
func ioOf(queues []Queue) Resource {
	r := DefaultResource()
	r.Name, r.Capacity, r.PerQueue = IO, NoBound, true
	r.Split.By, r.Exempt = SplitByNone, []string{Everybody}
	r.Of = map[string]int64{}
	for _, q := range queues {
		if q.MaxIO > 0 {
			r.Of[q.Name] = q.MaxIO
		}
	}
	return r
}

// WithIO is the version with the resource that bounds what jobs read and write at its queues.
func (v Version) WithIO() Version {
	v.Resources = append(v.Resources[:len(v.Resources):len(v.Resources)], ioOf(v.Queues))
	return v
}

// BoundAt says whether a resource per queue has units of its own at a queue; where it has not, it is not bounded.
func (r *Resource) BoundAt(queue string) bool {
	if r.Of == nil {
		return r.PerQueue
	}
	_, is := r.Of[queue]
	return is
}

// BuiltIn says whether it is a resource that no file has.
func (r *Resource) BuiltIn() bool { return r.Name == IO }
