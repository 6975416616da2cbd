package dispatcher

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// whyRow is what the records say.
type whyRow struct {
	N, OfN               int64
	Oldest               *time.Time
	NA, OfA, NB, OfB     int64
	NAb, OfAb, NBa, OfBa int64
	DeficitAb, SecondAb  *float64
	DeficitBa, SecondBa  *float64
	LastAb, LastBa       *time.Time
}

// Bounds of a WhyRequest.
const (
	defaultLast = 10_000
	mostLast    = 100_000
	defaultFrom = time.Hour
	mostFloors  = 20 // that are named
)

// Why says why share A was served before share B, or the other way round: a *FieldError when one of them is no share
// or one is above the other.
func (d *Dispatcher) Why(ctx context.Context, r WhyRequest) (Why, error) {
	if err := whyRequestDefaults(&r); err != nil {
		return Why{}, err
	}
	out := Why{A: r.A, B: r.B, At: time.Now().UTC(), Pools: []WhyStanding{}}
	leavesA, leavesB, err := d.whyNow(r, &out)
	if err != nil {
		return Why{}, err
	}
	rows, err := collect[whyRow](ctx, d.cfg.Pool, "explain_why", pgx.StrictNamedArgs{"a": leavesA, "b": leavesB, "n": r.Last,
		"from_s": r.From.Seconds()})
	if err != nil {
		return Why{}, fmt.Errorf("why: %w", err)
	}
	w := rows[0]
	out.Decisions, out.Oldest = Tally{Recorded: w.N, Made: w.OfN}, w.Oldest
	out.AWon, out.BWon = Tally{Recorded: w.NA, Made: w.OfA}, Tally{Recorded: w.NB, Made: w.OfB}
	out.ABeforeB = Duel{Tally: Tally{Recorded: w.NAb, Made: w.OfAb}, Deficit: w.DeficitAb, RunnerUpDeficit: w.SecondAb, Last: w.LastAb}
	out.BBeforeA = Duel{Tally: Tally{Recorded: w.NBa, Made: w.OfBa}, Deficit: w.DeficitBa, RunnerUpDeficit: w.SecondBa, Last: w.LastBa}
	out.Summary = whySummary(&out)
	return out, nil
}

func whyRequestDefaults(r *WhyRequest) error {
	if r.Last == 0 {
		r.Last = defaultLast
	}
	if r.From == 0 {
		r.From = defaultFrom
	}
	switch {
	case r.Last < 1 || r.Last > mostLast:
		return job.Wrong("last", r.Last, fmt.Sprintf("between 1 and %d", mostLast))
	case r.From < 0:
		return job.Wrong("since", r.From, "a time above 0, such as 1h")
	}
	return nil
}

// whyNow fills in how both stand now, and returns the ids of their leaves.
func (d *Dispatcher) whyNow(r WhyRequest, out *Why) (a, b []int32, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.state
	s.settle()
	t := s.version.Tree
	nodeA, okA := t.ByPath(r.A)
	nodeB, okB := t.ByPath(r.B)
	const want = "the path of a share, such as Production/MC"
	switch {
	case !okA || nodeA == 0:
		return nil, nil, job.Wrong("a", fmt.Sprintf("%q", r.A), want)
	case !okB || nodeB == 0:
		return nil, nil, job.Wrong("b", fmt.Sprintf("%q", r.B), want)
	case within(t, nodeA, nodeB) || within(t, nodeB, nodeA):
		return nil, nil, job.Wrong("b", fmt.Sprintf("%q", r.B), fmt.Sprintf("a share beside %q: one is the other or above it", r.A))
	}
	out.Version = s.version.Number
	sideA, sideB := parting(t, nodeA, nodeB)
	for _, name := range s.poolNames() {
		p := s.pools[name]
		w := WhyStanding{Pool: name, A: last(s.pathIn(p, sideA)), B: last(s.pathIn(p, sideB))}
		if w.A.Demand > 0 || w.B.Demand > 0 || len(s.pools) == 1 {
			out.Pools = append(out.Pools, w)
		}
	}
	for _, q := range s.version.Queues {
		for _, f := range s.queues[q.ID].floors {
			ofThem := func(leaf int) bool { return within(t, leaf, nodeA) || within(t, leaf, nodeB) }
			if len(out.Floors) < mostFloors && slices.ContainsFunc(f.leaves, ofThem) {
				out.Floors = append(out.Floors, fmt.Sprintf("at %s %s", q.Name, s.floorWords(f)))
			}
		}
	}
	return leavesBelow(t, nodeA), leavesBelow(t, nodeB), nil
}

func last(p PathStanding) LevelStanding { return p.Levels[len(p.Levels)-1] }

// within says whether a node is another one or below it.
func within(t *shares.Tree, node, top int) (is bool) {
	t.Up(node, func(n int) { is = is || n == top })
	return is
}

// leavesBelow lists the ids of the leaves of a branch.
func leavesBelow(t *shares.Tree, top int) (ids []int32) {
	for _, leaf := range t.Leaves() {
		if within(t, leaf, top) {
			ids = append(ids, int32(t.Nodes[leaf].ID))
		}
	}
	return ids
}

// summary is the paragraph.
func whySummary(y *Why) string {
	var b strings.Builder
	if y.Decisions.Recorded == 0 {
		b.WriteString("No decision was recorded in that time.")
	} else {
		fmt.Fprintf(&b, "Of %s, %s won %d and %s %d. ", tallyWords(y.Decisions), y.A, y.AWon.Recorded, y.B, y.BWon.Recorded)
		b.WriteString(duelWords(y.ABeforeB, y.A, y.B, y.AWon) + " " + duelWords(y.BBeforeA, y.B, y.A, y.BWon))
	}
	for _, p := range y.Pools {
		b.WriteString(" " + whyStandingWords(&p, len(y.Pools) > 1))
	}
	if len(y.Floors) > 0 {
		b.WriteString(" What is below a floor comes first all the same: " + strings.Join(y.Floors, "; ") + ".")
	}
	return b.String()
}

func tallyWords(t Tally) string {
	if t.Made > t.Recorded {
		return fmt.Sprintf("the last %d recorded decisions, a sample of about %d", t.Recorded, t.Made)
	}
	return fmt.Sprintf("the last %d decisions", t.Recorded)
}

// words says how a share that was chosen so many times fared against the second one.
func duelWords(u Duel, won, second string, chosen Tally) string {
	switch {
	case chosen.Recorded == 0:
		return won + " was never chosen."
	case u.Recorded == 0:
		return fmt.Sprintf("Each of the %d times that %s was chosen, another share than %s was next in line, or none.", chosen.Recorded, won, second)
	}
	return fmt.Sprintf("%s was chosen before %s %d times, when it was %s on average and the other %s.",
		won, second, u.Recorded, fromTarget(*u.Deficit), fromTarget(*u.RunnerUpDeficit))
}

// fromTarget says where a deficit leaves a share.
func fromTarget(deficit float64) string {
	if deficit < 0 {
		return figure(-deficit) + " above its target"
	}
	return figure(deficit) + " below its target"
}

func whyStandingWords(p *WhyStanding, named bool) string {
	where := "Now"
	if named {
		where = "Now in pool " + p.Pool
	}
	s := fmt.Sprintf("%s %s holds %s of its target of %s, and %s %s of %s", where, p.A.Share, figure(p.A.Held), figure(p.A.Target),
		p.B.Share, figure(p.B.Held), figure(p.B.Target))
	switch d := p.A.Deficit - p.B.Deficit; {
	case p.A.Ready == 0 && p.B.Ready == 0:
		return s + ": neither has a ready job."
	case p.A.Ready == 0:
		return fmt.Sprintf("%s: %s has no ready job.", s, p.A.Share)
	case p.B.Ready == 0:
		return fmt.Sprintf("%s: %s has no ready job.", s, p.B.Share)
	case d > shares.Tolerance/1000:
		return fmt.Sprintf("%s: %s comes first, by %s units.", s, p.A.Share, figure(d))
	case d < -shares.Tolerance/1000:
		return fmt.Sprintf("%s: %s comes first, by %s units.", s, p.B.Share, figure(-d))
	}
	return s + ": both are as far from their targets, whoever was served longer ago comes first."
}
