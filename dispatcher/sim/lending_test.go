package sim

import (
	"math/rand/v2"
	"slices"

	"github.com/divvyhq/divvy/shares"
)

// lends puts in a plan how much a share lends of what it owns, and borrows of others.
func (s Share) lends(plan *shares.Plan) {
	limit := func(n int) (l shares.Limit) {
		if n > 0 {
			units := shares.Units(1000 * (n - 1))
			l.Any = &units
		}
		return l
	}
	plan.Lend, plan.Borrow = limit(s.Lend), limit(s.Borrow)
}

// limited says whether lending or borrowing of some share has a limit: then units may be idle on purpose.
func (s *Site) limited() bool {
	return slices.ContainsFunc(s.Shares, func(of Share) bool { return of.Lend > 0 || of.Borrow > 0 })
}

// judgeLending judges a grant, before it counts, by what may be borrowed at the most. Of the pool of what nobody owns a leaf may have all.
func (t *truth) judgeLending(share shares.ShareID, queue int) {
	slots := t.site.Slots[queue]
	if !t.site.limited() || slots == 0 {
		return
	}
	t.seen.Lent++
	own, pool, others := t.site.Shares[share-1], slots, 0
	for _, of := range t.site.Shares {
		pool -= of.Owned
	}
	held := t.shares[queue][share] + 1
	if most := own.Owned + pool + own.Borrow - 1; own.Borrow > 0 && held > most {
		t.violate("share %d holds %d at queue %d: it owns %d, %d are nobody's, and it may borrow %d", share, held, queue, own.Owned, pool, own.Borrow-1)
	}
	if own.Lend > 0 { // it may use what it does not lend, whatever others hold
		return
	}
	for id := range t.site.Shares {
		others += t.shares[queue][shares.ShareID(id+1)]
	}
	for i, of := range t.site.Shares {
		id := shares.ShareID(i + 1)
		if keeps := of.Owned - of.Lend + 1; id != share && of.Lend > 0 && keeps > 0 && others-t.shares[queue][id]+1 > slots-keeps {
			t.violate("share %d is granted at queue %d: of %d slots share %d keeps %d, and holds %d of %d", share, queue, slots, id, keeps, t.shares[queue][id], others)
		}
	}
}

// drawLending draws limits where nothing but shares keeps jobs back. One slot is nobody's at least, so that all get on.
func (p *Plan) drawLending(r *rand.Rand) {
	if p.Units > 0 || p.Claims || !p.owns() || r.IntN(2) > 0 {
		return
	}
	p.each(func(s *Site) {
		owned := 0
		for i := range s.Shares {
			of := &s.Shares[i]
			of.Lend, of.Borrow = []int{0, 1, 1, 2}[r.IntN(4)], []int{0, 0, 1, 1, 2}[r.IntN(5)]
			owned += of.Owned
		}
		for q := range s.Slots {
			s.Slots[q] = max(2, owned+1)
		}
	})
}

func init() {
	parts["lending"] = func(p *Plan) {
		p.each(func(s *Site) {
			s.Shares = slices.Clone(s.Shares)
			for i := range s.Shares {
				s.Shares[i].Lend, s.Shares[i].Borrow = 0, 0
			}
		})
	}
}

func (p *Plan) lends() (is bool) {
	p.each(func(s *Site) { is = is || s.limited() })
	return is
}
