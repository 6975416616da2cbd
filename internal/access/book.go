package access

import (
	"context"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// RefreshEvery is how often a daemon reads the tokens, beside the hints. Ends of tokens take effect within it.
const RefreshEvery = 5 * time.Second

// ExpiredFor is how long Book remembers an expired token. After that the token is like one that never was.
const ExpiredFor = 30 * 24 * time.Hour

// mark remembers that a token was used since MarkUsed last looked.
type mark struct{ set atomic.Bool }

// entry is a token in memory.
type entry struct {
	hash   Hash
	caller *Caller
	next   *entry // with the same first 64 bits
}

// entries are tokens by the first 64 bits of their hash.
type entries map[uint64]*entry

// readTokens are those that are let in, and the ends of those that were.
type readTokens struct {
	live    entries
	expired map[Hash]error
}

// Book are the tokens in memory: those of the table and those of a file. Fill it with Refresh.
type Book struct {
	store *Store
	fixed entries
	read  atomic.Pointer[readTokens]
	marks map[int64]*mark // only Refresh looks
}

// Fixed is a token that is in no table.
type Fixed struct {
	Hash   Hash
	Caller *Caller
}

// NewBook makes a book of the tokens of a store, nil: none, and of fixed ones.
func NewBook(store *Store, fixed ...Fixed) *Book {
	b := &Book{store: store, marks: map[int64]*mark{}}
	b.Fix(fixed)
	b.read.Store(&readTokens{live: b.fixed})
	return b
}

// Fix replaces the fixed tokens, from the next Refresh on. It may not run beside one.
func (b *Book) Fix(fixed []Fixed) {
	b.fixed = entries{}
	for _, f := range fixed {
		b.fixed.add(f.Hash, f.Caller)
	}
}

// KeyOf is by what a book finds a hash: 64 bits of it.
func KeyOf(h Hash) uint64 { return binary.BigEndian.Uint64(h[:8]) }

func (to entries) add(h Hash, c *Caller) {
	key := KeyOf(h)
	to[key] = &entry{hash: h, caller: c, next: to[key]}
}

// Find is whom a token stands for; nil: nobody. A token is found by 64 bits of its hash and compared in constant time: what
// an attacker could learn of a hash is no way to a token.
func (b *Book) Find(text string) *Caller {
	h := HashOf(text)
	return b.Match(KeyOf(h), func(have Hash) bool { return subtle.ConstantTimeCompare(have[:], h[:]) == 1 })
}

// Match returns the caller of the token with this key if the token's hash fits.
func (b *Book) Match(key uint64, fits func(Hash) bool) *Caller {
	for e := b.read.Load().live[key]; e != nil; e = e.next {
		if fits(e.hash) {
			if m := e.caller.used; m != nil && !m.set.Load() {
				m.set.Store(true)
			}
			return e.caller
		}
	}
	return nil
}

// Expired says that a token was let in until lately, and when it expired; nil: it is unknown. Only who has a token's text
// learns that there was one.
func (b *Book) Expired(text string) error { return b.read.Load().expired[HashOf(text)] }

// liveRow is a token that is let in, or was until it expired.
type liveRow struct {
	ID     int64
	Name   string
	Hash   []byte
	Role   Role
	User   string
	Queues []string
	Share  string

	ExpiresAt *time.Time
	Expired   bool
}

// Refresh reads the tokens that are let in now. A step: repeat it. Only one may run at a time.
func (b *Book) Refresh(ctx context.Context) (n int, err error) {
	if b.store == nil {
		return 0, nil
	}
	rows, err := many[liveRow](ctx, b.store.db, "live", pgx.StrictNamedArgs{"told_s": ExpiredFor.Seconds()})
	if err != nil {
		return 0, err
	}
	now, marks := &readTokens{live: maps.Clone(b.fixed), expired: map[Hash]error{}}, make(map[int64]*mark, len(rows))
	for _, r := range rows {
		var until time.Time
		if r.ExpiresAt != nil {
			until = *r.ExpiresAt
		}
		if r.Expired {
			now.expired[Hash(r.Hash)] = fmt.Errorf("the token %q expired at %s", r.Name, until.UTC().Format(time.RFC3339))
			continue
		}
		m := b.marks[r.ID]
		if m == nil {
			m = &mark{}
		}
		marks[r.ID] = m
		now.live.add(Hash(r.Hash), &Caller{ID: r.ID, Name: r.Name, Role: r.Role, Subject: Subject{User: r.User, Queues: r.Queues, Share: r.Share}, Until: until, used: m})
	}
	b.marks = marks
	b.read.Store(now)
	return 0, nil
}

// MarkUsed writes which tokens were used since it last looked; n is how many. A step, for once a minute.
func (b *Book) MarkUsed(ctx context.Context) (n int, err error) {
	if b.store == nil {
		return 0, nil
	}
	var ids []int64
	var marks []*mark
	for _, first := range b.read.Load().live {
		for e := first; e != nil; e = e.next {
			if m := e.caller.used; m != nil && m.set.Swap(false) {
				ids, marks = append(ids, e.caller.ID), append(marks, m)
			}
		}
	}
	if len(ids) == 0 {
		return 0, nil
	}
	if _, err := b.store.db.Exec(ctx, query["mark_used"], pgx.StrictNamedArgs{"ids": ids}); err != nil {
		for _, m := range marks {
			m.set.Store(true) // the next step says so
		}
		return 0, fmt.Errorf("access: mark used: %w", err)
	}
	return len(ids), nil
}
