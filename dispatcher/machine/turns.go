package machine

// inTurns is a heap of things by the turn of each. The zero one is empty.
type inTurns[T comparable] struct {
	list []inTurn[T]
	at   map[T]int
}

type inTurn[T comparable] struct {
	what T
	turn userTurn
}

func (b *inTurns[T]) any() bool { return len(b.list) > 0 }

// first is the first turn; ok is false when there is none.
func (b *inTurns[T]) first() (at userTurn, ok bool) {
	if len(b.list) == 0 {
		return userTurn{}, false
	}
	return b.list[0].turn, true
}

// set adds a thing, or moves it.
func (b *inTurns[T]) set(what T, at userTurn) {
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

// drop takes a thing out, if it is there.
func (b *inTurns[T]) drop(what T) {
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

func (b *inTurns[T]) swap(i, j int) {
	if i != j {
		b.list[i], b.list[j] = b.list[j], b.list[i]
		b.at[b.list[i].what], b.at[b.list[j].what] = i, j
	}
}

func (b *inTurns[T]) up(i int) int {
	for i > 0 && b.list[i].turn.before(b.list[(i-1)/2].turn) {
		b.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	return i
}

func (b *inTurns[T]) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(b.list) {
			return
		}
		if c+1 < len(b.list) && b.list[c+1].turn.before(b.list[c].turn) {
			c++
		}
		if !b.list[c].turn.before(b.list[i].turn) {
			return
		}
		b.swap(i, c)
		i = c
	}
}
