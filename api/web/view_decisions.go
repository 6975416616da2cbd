package web

import (
	"context"
	"slices"

	"github.com/divvyhq/divvy/dispatcher"
)

// DecisionsPage lists recent decisions, the newest first.
type DecisionsPage struct {
	AsOf
	dispatcher.Lately
	Asked asked `json:"-"`
}

const decisionsOfPage = 100

func (h *past) decisionsPage(ctx context.Context, r *Request) (Dated, error) {
	a := askedOf(r)
	f := dispatcher.DecidedFilter{Share: a.Get("share"), Queue: a.Get("queue"), Task: a.number("task", 1, mostID, 0), Job: a.number("job", 1, mostID, 0),
		Limit: int(a.number("limit", 1, 1000, decisionsOfPage))}
	out := DecisionsPage{AsOf: Now(), Asked: a}
	if len(a.wrong) == 0 {
		out.Lately = h.dispatcher.DecidedLately(ctx, f)
	}
	if len(out.Items) == 0 { // decisions for a share or queue that has gone are shown
		h.tree.checkShare(ctx, &a)
		if err := h.places.checkQueue(ctx, &a); err != nil {
			return nil, err
		}
	}
	return out, a.err()
}

// Sampled says whether a line stands for other decisions too, as far as is seen here.
func (d DecisionsPage) Sampled() bool {
	return slices.ContainsFunc(d.Items, func(e dispatcher.Decided) bool { return e.Weight > 1 })
}

// skippedOf names the shares that stood before the winner of a decision.
func skippedOf(e dispatcher.Decided) string {
	n := e.Unfit + e.Barred
	switch {
	case n == 0:
		return "–"
	case len(e.Skipped) == 0:
		return count(n)
	}
	return count(n) + ": " + skippedSays(e.Skipped)
}
