package ready

// Turns is a heap of things by the turn of each. The zero one is empty.
type Turns[T comparable] struct {
	list []inTurn[T]
	at   map[T]int
}

type inTurn[T comparable] struct {
	what T
	turn Turn
}

// Any says whether there is one.
func (b *Turns[T]) Any() bool { return len(b.list) > 0 }

// Peek is the first thing; there must be one.
func (b *Turns[T]) Peek() T { return b.list[0].what }

// First is the first turn; ok is false when there is none.
func (b *Turns[T]) First() (at Turn, ok bool) {
	if len(b.list) == 0 {
		return Turn{}, false
	}
	return b.list[0].turn, true
}

// Set adds a thing, or moves it.
func (b *Turns[T]) Set(what T, at Turn) {
	i, there := b.at[what]
	if !there {
		if b.at == nil {
			b.at = map[T]int{}
		}
		i = len(b.list)
		b.list = append(b.list, inTurn[T]{what: what})
		b.at[what] = i
	}
	b.list[i].turn = at
	b.down(b.up(i))
}

// Drop takes a thing out, if it is there.
func (b *Turns[T]) Drop(what T) {
	i, there := b.at[what]
	if !there {
		return
	}
	last := len(b.list) - 1
	b.swap(i, last)
	b.list[last] = inTurn[T]{}
	b.list = b.list[:last]
	delete(b.at, what)
	if i < last {
		b.down(b.up(i))
	}
}

func (b *Turns[T]) swap(i, j int) {
	if i != j {
		b.list[i], b.list[j] = b.list[j], b.list[i]
		b.at[b.list[i].what], b.at[b.list[j].what] = i, j
	}
}

func (b *Turns[T]) up(i int) int {
	for i > 0 && b.list[i].turn.Before(b.list[(i-1)/2].turn) {
		b.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	return i
}

func (b *Turns[T]) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(b.list) {
			return
		}
		if c+1 < len(b.list) && b.list[c+1].turn.Before(b.list[c].turn) {
			c++
		}
		if !b.list[c].turn.Before(b.list[i].turn) {
			return
		}
		b.swap(i, c)
		i = c
	}
}
