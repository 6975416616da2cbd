package machine

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/shares"
)

// Shortage is the refusal of a resource, with how that stands.
type Shortage = gate.Explained

// turn fills in what comes before the job.
func (a *asking) turn(r *round, f *field, out *Answer) {
	pool, own := r.queue.Home, a.own.leaf
	out.Round = pool.Round(r.left.Offered(r.queue.Queue, 1))
	r.set, r.offered = &f.leaves, out.Round
	first, found, unmade := a.first(r, f)
	out.First.Leaf, out.Rule = first.leaf, first.rule()
	if first.floor != nil {
		floor := first.floor.View()
		out.Floor = &floor
	}
	if b := found.buffer; b != nil {
		out.First.Job = found.job.Low
		if b.user != nil {
			out.First.User, out.First.Served = b.user.Name, b.user.Served[pool]
		}
	}
	switch {
	case first.leaf != own:
		out.Turn = TurnShare
		c := between(pool.Book, out.Round, first.leaf, own)
		out.Deficit, out.Own = c.Deficit, c.RunnerUpDeficit
		out.Trail, out.OwnTrail = pool.Book.Trail(first.leaf, nil), pool.Book.Trail(own, nil)
	case unmade != nil:
		out.Turn = TurnPriority
	case found.job.Low == a.Job:
		out.Turn = TurnNone
	case a.own.user != nil && found.buffer.user != a.own.user:
		out.Turn = TurnUser
	default:
		out.Turn = TurnPriority
		out.Remote = r.remote(a.own, a.ownRange(), r.queue)
		out.Wider = r.queue.Prefer == "wide" && found.buffer.shape.Need.Cores > a.own.shape.Need.Cores
	}
	if a.Ahead > 0 && out.Turn == TurnShare {
		a.ahead(r, f, out)
	}
}

// ahead names the leaves that the tree puts before the job's, of those that have a job for the slot which nothing keeps back.
func (a *asking) ahead(r *round, f *field, out *Answer) {
	book, own := r.kind.pool.Book, a.own.leaf
	var alone shares.Contenders
	alone.Set(book, own, true)
	f.leaves.Set(book, own, false)
	for len(out.Before) < a.Ahead {
		alone.Contest(book, out.Round)
		next := f.leaves.Ahead(book, own, 1, nil)
		if len(next) == 0 {
			break
		}
		if found, in := a.best(r, due{leaf: next[0]}); found.buffer != nil || in.unmade != nil && a.patient(r, in.unmade) {
			out.Before = append(out.Before, next[0])
		}
	}
	for _, leaf := range append(slices.Clone(out.Before), own) {
		f.leaves.Set(book, leaf, true)
	}
}

// first is the leaf that comes first and the job that it gives, or the group whose jobs are to be made. As in a decision, leaves
// whose jobs are all kept back go out of the way.
func (a *asking) first(r *round, f *field) (first due, found choice, unmade *group) {
	if f.first != nil {
		found, _ = a.best(r, *f.first)
		return *f.first, found, f.group
	}
	var passed []due
	for {
		first, ok := r.choose(passed)
		if !ok {
			return due{leaf: a.own.leaf}, choice{}, nil
		}
		found, in := a.best(r, first)
		switch {
		case found.buffer != nil, in.unmade != nil && a.patient(r, in.unmade):
			f.first, f.group = &first, in.unmade
			if found.buffer != nil {
				f.group = nil
			}
			return first, found, f.group
		case in.unmade != nil:
			a.passed[in.unmade] = true
		case first.class() != "":
			passed = append(passed, first)
		default:
			f.leaves.Set(r.kind.pool.Book, first.leaf, false)
		}
	}
}

// patient is round.patient without noting that a pull waits.
func (a *asking) patient(r *round, g *group) bool {
	m, began, since := a.making, a.making.asked, g.asked
	if began.IsZero() {
		began = a.moment
	}
	if since.IsZero() || a.moment.Sub(g.met) > makingGap*m.pause {
		since = a.moment
	}
	most := makingMost * m.pause
	return a.moment.Sub(since) < most && a.moment.Sub(began) < m.pause && a.moment.Sub(r.pull.Until) < most
}

// best is round.best without heads: it looks at every buffer of the leaf.
func (a *asking) best(r *round, d due) (found choice, in obstacle) {
	by, groups := r.leafOrder(d.leaf), a.leaves[d.leaf].groups
	if d.leaf == a.own.leaf && !slices.Contains(groups, a.own.group) {
		groups = append(slices.Clone(groups), a.own.group)
	}
	for _, g := range groups {
		if !r.kind.runs(g.outline) || !d.takes(g.outline) {
			continue
		}
		if g.Waits <= g.coming && g != a.own.group {
			if a.unmade(g) && r.admitted(d.leaf, g.outline, &in) {
				in.unmade = g
			}
			continue
		}
		if r.admitted(d.leaf, g.outline, &in) {
			a.bestOf(r, g, func(c choice) { found.meet(c, by) }, &in)
		}
	}
	return found, in
}

// bestOf has the jobs meet that a group would give: that of the shape which asks for nothing, and the first of the others that
// resources admit.
func (a *asking) bestOf(r *round, g *group, meet func(choice), in *obstacle) {
	var heads []choice
	add := func(b *buffer) {
		job, ok := b.First()
		if own := a.ownRange(); b == a.own && (!ok || own.Stand().Before(job.Stand())) {
			job, ok = own, true
		}
		switch {
		case !ok:
		case b.headed:
			heads = append(heads, r.choice(b, job))
		default:
			meet(r.choice(b, job))
		}
	}
	for _, b := range g.buffers {
		if b != a.own {
			add(b)
		}
	}
	if a.own.group == g {
		add(a.own)
	}
	slices.SortStableFunc(heads, func(a, b choice) int { return a.turn.Compare(b.turn) })
	for _, head := range heads {
		_, no := a.lacks(r, head.buffer)
		if no.Gate == "" {
			meet(head)
			return
		}
		in.Keep(no)
	}
}

// lacks is round.short without its effects: which resource keeps the jobs of a buffer from the queue.
func (a *asking) lacks(r *round, b *buffer) (*Shortage, Refusal) {
	if !b.shape.asked.Any() {
		return nil, Refusal{}
	}
	return a.supplies.Explain(&b.wants, &r.queue.Queue, a.supplies.polledFor(b, 1) == 0, a.moment)
}
