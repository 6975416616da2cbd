package retry

import (
	"cmp"
	"slices"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// Claimer is a share that takes units back, in a pool.
type Claimer struct {
	Pool  string
	Share shares.ShareID
}

// Ask is what ready jobs of one shape could use in place of jobs that run.
type Ask struct {
	Share  shares.ShareID
	Plan   shares.ShareID // whose reclaim it is: the share, or one above it
	Back   shares.Ask
	Cores  int64            // of a job
	Queues []shares.QueueID // where they may run, and where all is held
}

// Running is an attempt, with what floors go by.
type Running struct {
	QueueID shares.QueueID
	ShareID shares.ShareID
	ShapeID int32
	Cores   int64
	Units   shares.Units
}

// Open is an order that was given and is not carried out yet.
type Open struct {
	Pool      string
	ClaimerID shares.ShareID
	VictimID  shares.ShareID // share of the attempt that is to end
	Units     shares.Units
	QueueID   shares.QueueID
	ShapeID   int32
	Cores     int64
}

// Recent is what a claimer was given lately.
type Recent struct {
	Pool      string
	ClaimerID shares.ShareID
	Open      shares.Units // by orders that are open
	Freed     shares.Units // by orders that were closed a short while ago
	Taken     shares.Units // that it was granted since the first of these
}

// Snapshot is the standing of a pool at one moment, with the shares in it that ask for units.
type Snapshot struct {
	Pool   string
	Book   *shares.Pool // a copy, at the capacity of its pool: what is chosen comes true in it
	R      shares.Units // that targets are shares of
	Asks   []Ask
	Floors Floors

	coming map[shares.ShareID]shares.Units // by claimer: on its way, for ready jobs of which no ask was reduced yet
	untook map[shares.ShareID]bool         // claimers that count as holding what came free for them
}

// foresee lets open orders come true, and has claimers hold what came free for them and they have not taken.
func (s *Snapshot) foresee(open []Open, recent []Recent) {
	s.coming, s.untook = map[shares.ShareID]shares.Units{}, map[shares.ShareID]bool{}
	for _, o := range open {
		victim, isVictim := s.leaf(o.VictimID)
		claimer, isClaimer := s.leaf(o.ClaimerID)
		if o.Pool == s.Pool && isVictim && isClaimer {
			s.pass(victim, claimer, o.Units)
			s.coming[o.ClaimerID] += o.Units
			s.Floors.take(s.Book.Tree(), Running{o.QueueID, o.VictimID, o.ShapeID, o.Cores, o.Units})
		}
	}
	for _, c := range recent {
		leaf, ok := s.leaf(c.ClaimerID)
		if free := c.Freed - c.Taken; c.Pool == s.Pool && ok && free > 0 {
			s.Book.SetWant(leaf, s.Book.Want(leaf)-free)
			s.Book.Hold(leaf, free)
			s.coming[c.ClaimerID] += free
			s.untook[c.ClaimerID] = true
		}
	}
}

// leaf returns the node of a share; false if it is none of the site, or has shares below it.
func (s *Snapshot) leaf(id shares.ShareID) (node int, ok bool) {
	node, ok = s.Book.Tree().ByID(id)
	return node, ok && s.Book.Tree().Leaf(node)
}

// pass moves units from a victim, whose job is ready again, to a claimer.
func (s *Snapshot) pass(victim, claimer int, u shares.Units) {
	s.Book.Hold(victim, -u)
	s.Book.SetWant(victim, s.Book.Want(victim)+u)
	s.Book.SetWant(claimer, s.Book.Want(claimer)-u)
	s.Book.Hold(claimer, u)
}

// sort puts the asks of shares that are furthest below their targets first.
func (s *Snapshot) sort() {
	targets := s.Book.Targets(s.R)
	short := func(a Ask) float64 { return targets[a.Back.Leaf] - float64(s.Book.Held(a.Back.Leaf)) }
	slices.SortStableFunc(s.Asks, func(a, b Ask) int { return cmp.Compare(short(b), short(a)) })
}

// hopeless reports whether nothing could be taken, whatever runs: then leases need not be read. Each leaf is thought to have an old
// job as large as the claimer's, which all that count for it are at least.
func (s *Snapshot) hopeless(back shares.Ask) bool {
	var jobs []shares.Running
	for _, leaf := range s.Book.Tree().Leaves() {
		if leaf != back.Leaf && s.Book.Held(leaf) >= back.Job {
			jobs = append(jobs, shares.Running{ID: int64(leaf), Leaf: leaf, Units: back.Job})
		}
	}
	back.Units = back.Job
	return len(s.Book.Victims(s.R, back, jobs, time.Time{}.Add(time.Duration(back.Terms.MinRuntime)))) == 0
}

// Owed is what leaves are given and take before all others: units that were reclaimed for them by comparing leaves with leaves, or by
// rank. Pulls go by the targets of the tree, which would give some of them back.
func Owed(tree *shares.Tree, given map[Claimer]shares.Units) map[Claimer]shares.Units {
	owed := map[Claimer]shares.Units{}
	for c, u := range given {
		leaf, ok := tree.ByID(c.Share)
		if !ok || u <= 0 || !tree.Leaf(leaf) {
			continue
		}
		if terms := tree.ReclaimOf(leaf); terms != nil && (terms.Scope == "leaf" || terms.By == "rank") {
			owed[c] = u
		}
	}
	return owed
}

// Floors are those of the queues of a pool. Nothing below a floor is taken: it would come back at once, and be taken again.
type Floors struct {
	Classes map[int32]string // by shape, see job.Class; may be nil where there are no floors
	List    []Floor
}

// Floor says how many cores jobs of some leaves hold at a queue above those for which they come first.
type Floor struct {
	Queue  shares.QueueID
	Class  string // see job.Class; empty: all
	Leaves []int
	Spare  int64 // cores
}

// copied is for what may be taken, before it is known what is.
func (f Floors) copied() Floors {
	f.List = slices.Clone(f.List)
	return f
}

// spares reports whether an attempt may be taken as far as the floors go.
func (f Floors) spares(tree *shares.Tree, r Running) bool {
	for i := range f.List {
		if floor := &f.List[i]; floor.Spare < r.Cores && f.covers(floor, tree, r) {
			return false
		}
	}
	return true
}

// take notes that an attempt is taken.
func (f Floors) take(tree *shares.Tree, r Running) {
	for i := range f.List {
		if floor := &f.List[i]; f.covers(floor, tree, r) {
			floor.Spare -= r.Cores
		}
	}
}

func (f Floors) covers(floor *Floor, tree *shares.Tree, r Running) bool {
	if floor.Queue != r.QueueID || floor.Class != "" && floor.Class != f.Classes[r.ShapeID] {
		return false
	}
	leaf, ok := tree.ByID(r.ShareID)
	return ok && slices.Contains(floor.Leaves, leaf)
}
