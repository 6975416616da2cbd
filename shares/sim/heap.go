package sim

// queue is a binary heap: first is what before puts in front of all others. The zero value needs before.
type queue[T any] struct {
	items  []T
	before func(a, b *T) bool
}

func (q *queue[T]) first() *T { return &q.items[0] }

func (q *queue[T]) push(v T) {
	q.items = append(q.items, v)
	i := len(q.items) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !q.before(&v, &q.items[up]) {
			break
		}
		q.items[i] = q.items[up]
		i = up
	}
	q.items[i] = v
}

func (q *queue[T]) pop() T {
	out := q.items[0]
	last := len(q.items) - 1
	v := q.items[last]
	q.items = q.items[:last]
	if last == 0 {
		return out
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && q.before(&q.items[child+1], &q.items[child]) {
			child++
		}
		if !q.before(&q.items[child], &v) {
			break
		}
		q.items[i] = q.items[child]
		i = child
	}
	q.items[i] = v
	return out
}
