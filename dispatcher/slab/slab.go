package slab

import (
	"iter"
	"math/bits"
)

// Record is what is kept; a pointer to it says of which job it is.
type Record[T any] interface {
	*T
	Key() int64
}

// Map is records by job. The zero value is empty.
type Map[T any, R Record[T]] struct {
	chunks [][]T
	live   []uint64 // a bit an index
	top    int32    // indexes that were given out so far
	free   []int32  // those that came back; the last is the next one's
	shards [shards]cells
}

// cells are indexes + 1 by the hash of their jobs, with linear probing; 0: free. Their number is a power of two.
type cells struct {
	at []int32
	n  int
}

const (
	shards = 256
	chunk  = 1024 // records that are made room for at once
	least  = 8    // cells of a shard
)

// hash is Fibonacci hashing: jobs come in sequence, and are to be spread evenly.
func hash(job int64) uint64 { return uint64(job) * 0x9e3779b97f4a7c15 }

func (m *Map[T, R]) shard(h uint64) *cells { return &m.shards[h>>56] }

// home is where the search for a hash begins.
func (c *cells) home(h uint64) int { return int(h << 8 >> (64 - bits.TrailingZeros(uint(len(c.at))))) }

// Len is how many records there are.
func (m *Map[T, R]) Len() int { return int(m.top) - len(m.free) }

// Top is above all indexes that were ever in use.
func (m *Map[T, R]) Top() int32 { return m.top }

// At is the record of an index; nil: there is none.
func (m *Map[T, R]) At(index int32) R {
	if m.live[index/64]>>(index%64)&1 == 0 {
		return nil
	}
	return m.of(index)
}

func (m *Map[T, R]) of(index int32) R { return R(&m.chunks[index/chunk][index%chunk]) }

// Get is the record of a job; nil: it has none.
func (m *Map[T, R]) Get(job int64) R {
	if cell, c := m.find(job); cell >= 0 {
		return m.of(c.at[cell] - 1)
	}
	return nil
}

// Index is where the record of a job is; -1: it has none.
func (m *Map[T, R]) Index(job int64) int32 {
	if cell, c := m.find(job); cell >= 0 {
		return c.at[cell] - 1
	}
	return -1
}

func (m *Map[T, R]) find(job int64) (cell int, c *cells) {
	h := hash(job)
	c = m.shard(h)
	if c.n == 0 {
		return -1, c
	}
	for cell = c.home(h); c.at[cell] != 0; cell = c.next(cell) {
		if m.of(c.at[cell]-1).Key() == job {
			return cell, c
		}
	}
	return -1, c
}

func (c *cells) next(cell int) int { return (cell + 1) & (len(c.at) - 1) }

// Put adds a record, of a job that has none, and says where it is.
func (m *Map[T, R]) Put(record T) (index int32) {
	if last := len(m.free) - 1; last >= 0 {
		index, m.free = m.free[last], m.free[:last]
	} else {
		if index = m.top; index%chunk == 0 {
			m.chunks = append(m.chunks, make([]T, chunk))
			m.live = append(m.live, make([]uint64, chunk/64)...)
		}
		m.top++
	}
	m.chunks[index/chunk][index%chunk] = record
	m.live[index/64] |= 1 << (index % 64)
	h := hash(m.of(index).Key())
	c := m.shard(h)
	if 4*c.n >= 3*len(c.at) {
		m.grow(c)
	}
	c.n++
	m.place(c, h, index)
	return index
}

func (m *Map[T, R]) place(c *cells, h uint64, index int32) {
	cell := c.home(h)
	for c.at[cell] != 0 {
		cell = c.next(cell)
	}
	c.at[cell] = index + 1
}

func (m *Map[T, R]) grow(c *cells) {
	old := c.at
	c.at = make([]int32, max(least, 2*len(old)))
	for _, at := range old {
		if at != 0 {
			m.place(c, hash(m.of(at-1).Key()), at-1)
		}
	}
}

// Drop takes the record of a job off, if it has one.
func (m *Map[T, R]) Drop(job int64) {
	hole, c := m.find(job)
	if hole < 0 {
		return
	}
	index := c.at[hole] - 1
	m.live[index/64] &^= 1 << (index % 64)
	m.free = append(m.free, index)
	c.n--
	// Whoever was placed behind it, and would not be found behind a hole, moves up.
	for cell := c.next(hole); c.at[cell] != 0; cell = c.next(cell) {
		home := c.home(hash(m.of(c.at[cell] - 1).Key()))
		if mask := len(c.at) - 1; (cell-home)&mask >= (cell-hole)&mask {
			c.at[hole], hole = c.at[cell], cell
		}
	}
	c.at[hole] = 0
}

// All are all records, in no order.
func (m *Map[T, R]) All() iter.Seq[R] {
	return func(yield func(R) bool) {
		for index := range m.top {
			if r := m.At(index); r != nil && !yield(r) {
				return
			}
		}
	}
}
