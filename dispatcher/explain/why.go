package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// WhyRequest asks why share A was served before share B. Both are paths, of leaves or not.
type WhyRequest struct {
	A    string        `json:"a"`
	B    string        `json:"b"`
	Last int           `json:"last"` // decisions, 1 … 100000; 0 = 10000
	From time.Duration `json:"from"` // not older than that; 0 = an hour
}

// Why is how two shares fared against each other.
type Why struct {
	A         string        `json:"a"`
	B         string        `json:"b"`
	At        time.Time     `json:"at"`
	Version   int64         `json:"version" doc:"Site version in force."`
	Summary   string        `json:"summary" doc:"The answer in a paragraph."`
	Decisions int64         `json:"decisions" doc:"How many were looked at."`
	Oldest    *time.Time    `json:"oldest,omitempty" doc:"When the first of them was made."`
	AWon      int64         `json:"a_won" doc:"How many of them A won, against anybody."`
	BWon      int64         `json:"b_won"`
	ABeforeB  Duel          `json:"a_before_b" doc:"Those that A won with B next in line."`
	BBeforeA  Duel          `json:"b_before_a"`
	Floors    []string      `json:"floors,omitempty" doc:"Floors of queues by which jobs of one of the two come first there, the first twenty."`
	Pools     []WhyStanding `json:"pools" doc:"How both stand now at the level at which their paths part, by pool."`
}

// Duel counts decisions, with their mean deficits: target − held in units before the grant, at the level at which the paths part.
type Duel struct {
	Times           int64      `json:"times"`
	Deficit         *float64   `json:"deficit,omitempty" doc:"Of the winner's side, on average."`
	RunnerUpDeficit *float64   `json:"runner_up_deficit,omitempty"`
	Last            *time.Time `json:"last,omitempty" doc:"When it was so for the last time."`
}

// WhyStanding is how the two sides stand in a pool now.
type WhyStanding struct {
	Pool string        `json:"pool"`
	A    LevelStanding `json:"a"`
	B    LevelStanding `json:"b"`
}

// Bounds of a WhyRequest.
const (
	defaultLast = 10_000
	mostLast    = 100_000
	defaultFrom = time.Hour
	mostFloors  = 20 // that are named
)

// Fared is what decisions of late, made again from the log, say of two shares.
type Fared struct {
	Decisions int64
	Oldest    *time.Time
	AWon      int64
	BWon      int64
	ABeforeB  Duel
	BBeforeA  Duel
}

// Check returns the request with its defaults, or a *job.FieldError.
func (r WhyRequest) Check() (WhyRequest, error) {
	if r.Last == 0 {
		r.Last = defaultLast
	}
	if r.From == 0 {
		r.From = defaultFrom
	}
	switch {
	case r.Last < 1 || r.Last > mostLast:
		return r, job.Wrong("last", r.Last, fmt.Sprintf("between 1 and %d", mostLast))
	case r.From < 0:
		return r, job.Wrong("since", r.From, "a time above 0, such as 1h")
	}
	return r, nil
}

// sides finds the nodes of two shares.
func (m Moment) sides(r WhyRequest) (a, b int, err error) {
	t := m.View.Site.Tree
	a, okA := t.ByPath(r.A)
	b, okB := t.ByPath(r.B)
	const want = "the path of a share, such as Production/MC"
	switch {
	case !okA || a == 0:
		err = job.Wrong("a", fmt.Sprintf("%q", r.A), want)
	case !okB || b == 0:
		err = job.Wrong("b", fmt.Sprintf("%q", r.B), want)
	case within(t, a, b) || within(t, b, a):
		err = job.Wrong("b", fmt.Sprintf("%q", r.B), fmt.Sprintf("a share beside %q: one is the other or above it", r.A))
	}
	return a, b, err
}

// Sides returns the leaves of two shares, by which decisions are counted: a *job.FieldError when one of them is no share
// or one is above the other.
func (m Moment) Sides(r WhyRequest) (a, b []shares.ShareID, err error) {
	nodeA, nodeB, err := m.sides(r)
	if err != nil {
		return nil, nil, err
	}
	t := m.View.Site.Tree
	for _, leaf := range t.Leaves() {
		switch {
		case within(t, leaf, nodeA):
			a = append(a, t.Nodes[leaf].ID)
		case within(t, leaf, nodeB):
			b = append(b, t.Nodes[leaf].ID)
		}
	}
	return a, b, nil
}

// Why says why share A was served before share B, or the other way round: how they stand now, and how they fared in decisions
// about the leaves that Sides returned.
func (m Moment) Why(r WhyRequest, f Fared) (Why, error) {
	nodeA, nodeB, err := m.sides(r)
	if err != nil {
		return Why{}, err
	}
	v, t := m.View, m.View.Site.Tree
	out := Why{A: r.A, B: r.B, At: m.At.UTC(), Version: v.Site.Number, Decisions: f.Decisions, Oldest: f.Oldest, AWon: f.AWon, BWon: f.BWon,
		ABeforeB: f.ABeforeB, BBeforeA: f.BBeforeA, Pools: []WhyStanding{}}
	sideA, sideB := t.Part(nodeA, nodeB)
	names, jobs := poolsOf(m.View.Site), countJobs(m.View)
	for _, name := range names {
		p := m.pool(name, jobs)
		w := WhyStanding{Pool: name, A: last(p.path(t, sideA)), B: last(p.path(t, sideB))}
		if w.A.Demand > 0 || w.B.Demand > 0 || len(names) == 1 {
			out.Pools = append(out.Pools, w)
		}
	}
	for _, q := range v.Site.Queues {
		for _, f := range v.Queue(q.ID).Targets {
			if f.Floor && len(out.Floors) < mostFloors && concerns(t, f, nodeA, nodeB) {
				out.Floors = append(out.Floors, fmt.Sprintf("at %s %s", q.Name, floorWords(m.View.Site, f)))
			}
		}
	}
	out.Summary = out.summary()
	return out, nil
}

// concerns says whether target slots are for jobs of a leaf of one of two nodes.
func concerns(tree *shares.Tree, t machine.TargetView, a, b int) bool {
	top, ok := tree.ByID(t.Share)
	return slices.ContainsFunc(tree.Leaves(), func(leaf int) bool {
		return (t.Share == 0 || ok && within(tree, leaf, top)) && (within(tree, leaf, a) || within(tree, leaf, b))
	})
}

// summary is the paragraph.
func (y *Why) summary() string {
	var b strings.Builder
	if y.Decisions == 0 {
		b.WriteString("No decision was recorded in that time.")
	} else {
		fmt.Fprintf(&b, "Of the last %d decisions, %s won %d and %s %d. ", y.Decisions, y.A, y.AWon, y.B, y.BWon)
		b.WriteString(y.ABeforeB.words(y.A, y.B, y.AWon) + " " + y.BBeforeA.words(y.B, y.A, y.BWon))
	}
	for _, p := range y.Pools {
		b.WriteString(" " + p.words(len(y.Pools) > 1))
	}
	if len(y.Floors) > 0 {
		b.WriteString(" What is below a floor comes first all the same: " + strings.Join(y.Floors, "; ") + ".")
	}
	return b.String()
}

// words says how a share that was chosen so many times fared against the second one.
func (u Duel) words(won, second string, chosen int64) string {
	switch {
	case chosen == 0:
		return won + " was never chosen."
	case u.Times == 0:
		return fmt.Sprintf("Each of the %d times that %s was chosen, another share than %s was next in line, or none.", chosen, won, second)
	}
	return fmt.Sprintf("%s was chosen before %s %d times, when it was %s on average and the other %s.",
		won, second, u.Times, fromTarget(*u.Deficit), fromTarget(*u.RunnerUpDeficit))
}

// fromTarget says where a deficit leaves a share.
func fromTarget(deficit float64) string {
	if deficit < 0 {
		return figure(-deficit) + " above its target"
	}
	return figure(deficit) + " below its target"
}

func (p *WhyStanding) words(named bool) string {
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

// within says whether a node is another one or below it.
func within(t *shares.Tree, node, top int) (is bool) {
	t.Up(node, func(n int) { is = is || n == top })
	return is
}

func last(p PathStanding) LevelStanding { return p.Levels[len(p.Levels)-1] }
