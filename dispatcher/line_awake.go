package dispatcher

import "container/heap"

// awake is a heap of classes by who came first: what has been read is for the pull that waits longest, and nobody waits while
// others come and go.
type awake []*class

func (a awake) Len() int           { return len(a) }
func (a awake) Less(i, j int) bool { return a[i].turn < a[j].turn }
func (a awake) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *awake) Push(c any)        { *a = append(*a, c.(*class)) }

func (a *awake) Pop() any {
	last := len(*a) - 1
	c := (*a)[last]
	(*a)[last], *a = nil, (*a)[:last]
	return c
}

// first takes the class with the oldest pull off those awake.
func (l *line) first() *class {
	c := heap.Pop(&l.awake).(*class)
	c.awake = false
	return c
}
