package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// owed follows that a share comes first for so many units of a pool from now on.
func (t *truth) owed(e entry.Owed) {
	t.debts = slices.DeleteFunc(t.debts, func(d entry.Debt) bool { return d.Pool == e.Pool && d.Share == e.Share })
	if e.Units > 0 {
		t.debts = append(t.debts, entry.Debt{Owed: e, Until: t.time.Add(owedFor)})
	}
	place := func(share shares.ShareID) int { i, _ := t.tree.ByID(share); return i }
	slices.SortFunc(t.debts, func(a, b entry.Debt) int {
		return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(place(a.Share), place(b.Share)))
	})
}

// pay takes a lease off what its share is owed.
func (t *truth) pay(l *leaseTruth) {
	for i := range t.debts {
		if d := &t.debts[i]; d.Pool == poolOf(int(l.Queue)-1) && d.Share == l.Granted.Share {
			d.Units -= l.Units
		}
	}
	t.debts = slices.DeleteFunc(t.debts, func(d entry.Debt) bool { return d.Units <= 0 })
}

// forgive drops the debts whose time is over.
func (t *truth) forgive(now time.Time) {
	t.debts = slices.DeleteFunc(t.debts, func(d entry.Debt) bool { return !now.Before(d.Until) })
}

// comesFirst is who is owed units of a pool and has a job for them.
func (t *truth) comesFirst(s *standing, pool string) (d entry.Debt, is bool) {
	i := slices.IndexFunc(t.debts, func(d entry.Debt) bool {
		leaf, _ := t.tree.ByID(d.Share)
		return d.Pool == pool && s.has[leaf]
	})
	if i < 0 {
		return d, false
	}
	return t.debts[i], true
}
