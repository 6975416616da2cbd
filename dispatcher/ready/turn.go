package ready

import (
	"cmp"

	"github.com/divvyhq/divvy/shares"
)

// Stand is a position in the ready order of a share.
type Stand struct{ Place, ID int64 }

// Before says whether a comes first.
func (a Stand) Before(b Stand) bool { return a.Place < b.Place || a.Place == b.Place && a.ID < b.ID }

// Turn is a place in the order of a leaf: whoever holds less is first, then who was served longer ago, then the one whose
// first job is. Where a leaf gives no turns nobody holds anything in this sense, nor was served.
type Turn struct {
	Held   shares.Units
	Served uint64
	Stand
}

// CompareUsers goes by what is held and who was served, whatever the first jobs are.
func (a Turn) CompareUsers(b Turn) int {
	return cmp.Or(cmp.Compare(a.Held, b.Held), cmp.Compare(a.Served, b.Served))
}

// Compare is below 0 if a comes first.
func (a Turn) Compare(b Turn) int {
	return cmp.Or(a.CompareUsers(b), cmp.Compare(a.Place, b.Place), cmp.Compare(a.ID, b.ID))
}

// Before says whether a comes first.
func (a Turn) Before(b Turn) bool {
	c := a.CompareUsers(b)
	return c < 0 || c == 0 && a.Stand.Before(b.Stand)
}

// Turns is a heap of things by the turn of each. The zero one is empty.
type Turns[T comparable, P place[P]] struct {
	list []inTurn[T, P]
	at   map[T]int
}

type place[P any] interface{ Before(P) bool }

type inTurn[T comparable, P place[P]] struct {
	what T
	turn P
}

// Any says whether there is one.
func (b *Turns[T, P]) Any() bool { return len(b.list) > 0 }

// All are all of them.
func (b *Turns[T, P]) All() (list []T) {
	for _, each := range b.list {
		list = append(list, each.what)
	}
	return list
}

// Peek is the first thing; there must be one.
func (b *Turns[T, P]) Peek() T { return b.list[0].what }

// First is the first turn; ok is false when there is none.
func (b *Turns[T, P]) First() (at P, ok bool) {
	if len(b.list) == 0 {
		return at, false
	}
	return b.list[0].turn, true
}

// Set adds a thing, or moves it.
func (b *Turns[T, P]) Set(what T, at P) {
	i, there := b.at[what]
	if !there {
		if b.at == nil {
			b.at = map[T]int{}
		}
		i = len(b.list)
		b.list = append(b.list, inTurn[T, P]{what: what})
		b.at[what] = i
	}
	b.list[i].turn = at
	b.down(b.up(i))
}

// Drop takes a thing out, if it is there.
func (b *Turns[T, P]) Drop(what T) {
	i, there := b.at[what]
	if !there {
		return
	}
	last := len(b.list) - 1
	b.swap(i, last)
	b.list[last] = inTurn[T, P]{}
	b.list = b.list[:last]
	delete(b.at, what)
	if i < last {
		b.down(b.up(i))
	}
}

func (b *Turns[T, P]) swap(i, j int) {
	if i != j {
		b.list[i], b.list[j] = b.list[j], b.list[i]
		b.at[b.list[i].what], b.at[b.list[j].what] = i, j
	}
}

func (b *Turns[T, P]) up(i int) int {
	for i > 0 && b.list[i].turn.Before(b.list[(i-1)/2].turn) {
		b.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	return i
}

func (b *Turns[T, P]) down(i int) {
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
