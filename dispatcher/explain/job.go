package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// Subject is the job that is explained, as its row says.
type Subject struct {
	Job, Task  int64
	Share      shares.ShareID
	Path       string // of the share
	Shape      int32
	State      string
	Place      int64
	Inputs     []string
	TaskState  string
	TaskReason string
	User       string     // of the task
	TryAt      *time.Time // of a job that waits after an attempt
	Judged     bool       // until then, and is ready afterwards
	Split      bool       // before that its piece becomes two
	Piece      bool       // it is no job yet: Job is above all ids
	Claims     []ClaimStanding
	Given      *Decision // of a job that is neither waiting nor ready
}

// Job says why a job waits, or why it was given its slot.
func (m Moment) Job(s Subject) Explanation {
	e := Explanation{Job: s.Job, Task: s.Task, Share: s.Path, State: s.State, At: m.At.UTC(), Version: m.View.Site.Number, Claims: s.Claims, Decision: s.Given}
	if s.State != "ready" && s.State != "waiting" {
		if e.Decision == nil {
			e.Decision = &Decision{Note: "it never had a slot"}
		}
		e.Summary = e.Decision.Summary(s.State)
		return e
	}
	l := m.lookAt(&s)
	if s.State == "waiting" {
		e.Waits = &TaskWait{TaskState: s.TaskState, Reason: s.waitsFor(), Inputs: append([]string{}, s.Inputs...)}
	}
	l.fill(&e)
	return e
}

// fill says all that follows from a look.
func (l *look) fill(e *Explanation) {
	if l.leaf >= 0 {
		for _, p := range l.pools {
			path := p.path(l.tree, l.leaf)
			path.AtTarget = p.atTarget
			e.Pools = append(e.Pools, path)
		}
		if l.subject.State == "ready" {
			e.Position = l.position()
		}
		l.gates(e)
	}
	if l.subject.State == "ready" {
		e.ETA = l.estimate(e)
	}
	e.Summary = summary(l.subject, e)
}

// waitsFor says what a job that is not ready waits for.
func (s *Subject) waitsFor() string {
	switch {
	case s.TryAt != nil && s.Split:
		return "its piece is split, and it is tried again with one half, at " + s.TryAt.UTC().Format(time.RFC3339)
	case s.TryAt != nil && s.Judged:
		return "it is tried again at " + s.TryAt.UTC().Format(time.RFC3339)
	case s.TryAt != nil:
		return "it is about to be judged what becomes of it after its last attempt"
	}
	words := fmt.Sprintf("task %d is %s", s.Task, s.TaskState)
	if s.TaskReason != "" {
		words += ": " + s.TaskReason
	}
	return words
}

// look is what is seen of a job.
type look struct {
	Moment
	subject *Subject
	tree    *shares.Tree
	leaf    int // -1: its share has gone, or the machine does not know its shape
	need    job.Requirements
	ahead   []machine.AheadView
	before  int64   // of them, those that come before it
	more    bool    // there are others beyond the bound
	pools   []*flow // in which it may run
}

func (m Moment) lookAt(s *Subject) *look {
	l := &look{Moment: m, subject: s, tree: m.View.Site.Tree, leaf: -1}
	need, known := m.View.Shape(s.Shape)
	leaf, ok := l.tree.ByID(s.Share)
	if !known || !ok || !l.tree.Leaf(leaf) {
		return l
	}
	l.leaf, l.need = leaf, need
	l.ahead = m.View.Ahead(machine.Question{Share: s.Share, Shape: s.Shape, User: s.User, Place: s.Place, Job: s.Job})
	for _, a := range l.ahead {
		l.before += a.Before
	}
	jobs := countJobs(m.View)
	for _, name := range poolsOf(m.View.Site) {
		if l.power(need, name) > 0 {
			l.pools = append(l.pools, l.flowOf(m.pool(name, jobs)))
		}
	}
	return l
}

// pool is one in which it may run.
func (l *look) pool(name string) *flow {
	for _, p := range l.pools {
		if p.name == name {
			return p
		}
	}
	return nil
}

// power is that of the strongest queue of a pool which may run jobs of the leaf; 0: none may.
func (l *look) power(need job.Requirements, pool string) (most shares.Units) {
	path := l.tree.Nodes[l.leaf].Path
	for _, q := range l.View.Site.Queues {
		if q.Pool == pool && shares.Units(q.CorePowerMilli) > most && job.RunsAt(need, q) && q.Runs(path) {
			most = shares.Units(q.CorePowerMilli)
		}
	}
	return most
}

// position counts the ready jobs of the share that come before this one.
func (l *look) position() *Position {
	p := &Position{Before: l.before, More: l.more}
	for _, a := range l.ahead {
		p.Ready += a.Ready
	}
	if !l.subject.Piece {
		p.Ready = max(p.Ready, l.before+1)
	}
	return p
}

// gates asks every queue about the job.
func (l *look) gates(e *Explanation) {
	var asked []shares.QueueID
	at := map[shares.QueueID]int{}
	for i, q := range l.View.Site.Queues {
		out := QueueGate{Queue: q.Name, Pool: q.Pool}
		out.Pilots, _ = l.Pulls.PullsAt(q.ID)
		if out.Gate, out.Reason = l.outside(q); out.Gate == "" {
			asked, at[q.ID] = append(asked, q.ID), i
		}
		e.Queues = append(e.Queues, out)
	}
	question := machine.Question{Share: l.subject.Share, Shape: l.subject.Shape, User: l.subject.User, Place: l.subject.Place, Job: l.subject.Job, Queues: asked, At: l.At}
	for _, a := range l.View.Ask(question) {
		q := l.View.Site.Queues[at[a.Queue]]
		out := &e.Queues[at[a.Queue]]
		if len(a.Refusals) > 0 {
			out.Gate, out.Reason = l.refused(q, a)
		}
		if out.Gate == "" || out.Gate.isResource() {
			if g, reason := l.claimed(q); g != "" {
				out.Gate, out.Reason = g, reason
			}
		}
		switch {
		case out.Gate != "":
		case a.Turn == machine.TurnShare:
			l.share(q, a, out)
		case a.Turn == machine.TurnUser:
			l.user(q, a, out)
		default:
			l.priority(a, e, out)
		}
	}
	for _, q := range e.Queues {
		if q.Gate.place() > e.Gate.place() {
			e.Gate = q.Gate
		}
	}
}

// outside is what keeps the job from a queue and the machine does not know of; "" when nothing does.
func (l *look) outside(q shares.Queue) (Gate, string) {
	need := l.need
	need.Claims = nil // a gate of its own
	if reason := job.Fits(need, q, q.Labels); reason != "" {
		return GateStructural, reason
	}
	if reason := job.ClosedTo(q, l.tree.Nodes[l.leaf].Path); reason != "" {
		return GateStructural, reason
	}
	if reason := l.passedOver(q.ID); reason != "" {
		return GateStructural, reason
	}
	if l.subject.State == "waiting" {
		if l.subject.TryAt != nil {
			return GateBackoff, l.subject.waitsFor()
		}
		return GatePaused, l.subject.waitsFor()
	}
	if h, ok := l.Holes[q.ID]; ok {
		return GateBlackHole, h.Words(l.View.Site.Attempts)
	}
	return "", ""
}

// passedOver says what the pilots of a queue take instead of the job; empty when one of them takes it, or none has pulled.
func (l *look) passedOver(q shares.QueueID) string {
	n, instead := 0, map[string]bool{}
	for pilot := range l.Pulls.PilotsAt(q) {
		n++
		o := pilot.Only
		if o == nil || o.Takes(l.need.Label) && (o.Task == 0 || o.Task == l.subject.Task) && (o.User == "" || o.User == l.subject.User) {
			return ""
		}
		if len(instead) < 5 {
			instead[o.Words()] = true
		}
	}
	switch list := strings.Join(slices.Sorted(maps.Keys(instead)), ", or "); n {
	case 0:
		return ""
	case 1:
		return "the pilot takes " + list
	default:
		return fmt.Sprintf("the %d pilots that pulled here in the last five minutes take %s", n, list)
	}
}

func (l *look) refused(q shares.Queue, a machine.Answer) (Gate, string) {
	no, p := a.Refusals[0], l.pool(q.Pool)
	units := figure(shares.Units(no.Needed).Float())
	node, _ := l.tree.ByPath(no.Ref)
	switch no.Gate {
	case gate.Site:
		return GateStructural, "the queue does not run such jobs"
	case gate.Queue:
		return GateCap, fmt.Sprintf("%d of the queue's %d slots are held, it needs %d", l.View.Queue(q.ID).HeldCores, *q.Slots, l.need.Cores)
	case gate.Pool:
		if no.Ref == "" { // by lending: of all that is idle
			return GateLending, fmt.Sprintf("%s units of the pool are held, and none is left that it may use", figure(p.Book.Held(0).Float()))
		}
		return GateCap, fmt.Sprintf("%s of the pool's %s units are held, it needs %s", figure((p.Book.Held(0) - p.Offline).Float()),
			figure(p.PoolStanding.Capacity), units)
	case gate.Max:
		most, _ := l.tree.Nodes[node].Plan.Max.In(q.Pool)
		return GateCap, fmt.Sprintf("max of %s is %s, it holds %s", no.Ref, figure(most.Float()), figure(p.Book.Held(node).Float()))
	case gate.Targets:
		for _, t := range l.View.Queue(q.ID).Targets {
			if t.Ref == no.Ref {
				return GateCap, limitWords(l.View.Site, t, int64(l.need.Cores))
			}
		}
	case gate.Lend:
		return GateLending, fmt.Sprintf("%s keeps back what it owns and does not lend", no.Ref)
	case gate.Borrow:
		return GateLending, fmt.Sprintf("%s holds %s and may not borrow %s more", no.Ref, figure(p.Book.Held(node).Float()), units)
	case gate.Unknown:
		return GateResourceUnknown, fmt.Sprintf("%s: the site has %s", l.View.Site.NoResource(no.Ref), l.View.Site.ResourceNames())
	}
	if a.Shortage != nil {
		return Gate(no.Gate), shortageWords(a.Shortage, l.At)
	}
	return Gate(no.Gate), fmt.Sprintf("%s: it needs %d, there are %d", no.Ref, no.Needed, no.Had)
}

// shortageWords is a refusal for people.
func shortageWords(why *machine.Shortage, now time.Time) string {
	if why.BuiltIn {
		return ioWords(why, now)
	}
	name := why.Ref
	if why.Queue != "" {
		name += " at " + why.Queue
	}
	who := fmt.Sprintf("%s holds %d", why.ID, why.Held)
	part := fmt.Sprintf("%s, its part is %d", who, why.Allowance)
	if why.Rule == resource.Capacity && why.Need > why.Capacity {
		return fmt.Sprintf("it needs %d units of %s, and there are %d in all: no end of a job helps", why.Need, name, why.Capacity)
	}
	switch why.Rule {
	case resource.Capacity:
		return fmt.Sprintf("%d of %d units of %s are held, it needs %d; %s", why.InUse, why.Capacity, name, why.Need, part)
	case resource.External:
		return fmt.Sprintf("of %d units of %s others use so many outside of this site that %d are left for it, of which %d are held; it needs %d; %s",
			why.Capacity, name, why.Usable, why.InUse, why.Need, part)
	case resource.Reservation:
		return fmt.Sprintf("%d units of %s are free, and kept for a job of %s that was passed over%s; it needs %d",
			why.Free, name, strings.Join(why.KeptFor, ", "), until(why.Until, now), why.Need)
	}
	return fmt.Sprintf("%s of %s, which is its part of %d; %d are free, and kept for %s%s", who, name, why.Usable, why.Free,
		shortList(why.KeptFor), until(why.Until, now))
}

// ioWords is a refusal by the max_io of a queue.
func ioWords(why *machine.Shortage, now time.Time) string {
	most, need := shares.Units(why.Capacity), shares.Units(why.Need)
	switch {
	case why.Rule == resource.Reservation:
		return fmt.Sprintf("max_io of the queue: %s MB/s are free, and kept for a job that was passed over%s; it needs %s",
			shares.Units(why.Free), until(why.Until, now), need)
	case need > most:
		return fmt.Sprintf("max_io of the queue: it needs %s MB/s, and all jobs there may have %s: no end of a job helps", need, most)
	}
	return fmt.Sprintf("max_io of the queue: its jobs have %s of %s MB/s, it needs %s", shares.Units(why.InUse), most, need)
}

// until says when a reservation ends at the latest.
func until(at, now time.Time) string {
	if left := at.Sub(now); !at.IsZero() && left > 0 {
		return fmt.Sprintf(" for %s at most", left.Round(time.Second))
	}
	return ""
}

// shortList names the first IDs that units are kept for.
func shortList(names []string) string {
	if len(names) == 0 {
		return "others"
	}
	list := strings.Join(names[:min(len(names), 3)], ", ")
	if more := len(names) - 3; more > 0 {
		list += fmt.Sprintf(" and %d others", more)
	}
	return list
}
