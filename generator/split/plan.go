package split

import (
	"cmp"
	"math"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/shares"
)

// Bounds of splitting to fit.
const (
	unboundedWalltime = 24 * 3600 // of a piece that neither its queues nor its task bound
	maxSizes          = 3         // with per_queue
)

// Plan is how a lot is cut, by its task and the queues in force.
type Plan struct {
	Model  Model
	need   job.Requirements // of its pieces, but what the model says
	Shared bool
	Sizes  []size // the largest first; their shapes are not known yet
	limits []Room // of the queues that may run it
}

// Room is what a queue allows a job; 0 is no bound.
type Room struct{ Walltime, Scratch int64 }

// NewPlan makes the plan of a lot of a checked task that has lots.
func NewPlan(s *spec.Spec, l *Lot, queues []shares.Queue) Plan {
	split := splitOrDefault(s)
	p := Plan{need: lotShape(s, l), Shared: countedBy(split, s) == spec.ByEvents}
	anywhere := p.need
	if split.Fit {
		anywhere.WalltimeS, anywhere.DiskMB = 0, 0
	}
	power := math.Inf(1)
	for _, q := range queues {
		if job.RunsAt(anywhere, q) {
			p.limits = append(p.limits, Room{q.WalltimeS, q.DiskMB})
			power = min(power, float64(q.CorePowerMilli)/1000)
		}
	}
	p.Model = ModelOf(split, s.Requirements.Cores, power)
	p.Model.disk = p.Model.output > 0 || p.Model.work > 0 || split.Fit && l.Bytes > 0
	if split.Fit {
		p.fit(split, s, l)
	} else {
		p.Sizes = []size{{most: weighed(countedBy(split, s), split.PerJob)}}
	}
	return p
}

// splitOrDefault is how a task with lots is cut: as it says, or by per_job inputs.
func splitOrDefault(s *spec.Spec) *spec.Split {
	if s.Split != nil {
		return s.Split
	}
	return &spec.Split{By: spec.ByInputs, PerJob: max(s.PerJob, 1)}
}

func countedBy(p *spec.Split, s *spec.Spec) string {
	if s.Events != nil {
		return spec.ByEvents
	}
	return cmp.Or(p.By, spec.ByInputs)
}

// ModelOf is the model of pieces at queues whose slowest cores have this power.
func ModelOf(p *spec.Split, cores int, power float64) Model {
	if math.IsInf(power, 1) || power <= 0 {
		power = 1
	}
	return Model{seconds: p.CPUPerEvent / (float64(max(cores, 1)) * power * cmp.Or(p.Efficiency, spec.Efficiency)),
		base: float64(p.BaseWalltime), output: p.OutputPerEvent, work: float64(p.WorkMB)}
}

// weighed is a weight of which one figure is given.
func weighed(by string, n int64) Weight {
	switch by {
	case spec.ByEvents:
		return Weight{Events: n}
	case spec.ByBytes:
		return Weight{Bytes: n}
	}
	return Weight{Inputs: n}
}

// fit makes the sizes of pieces that fit their queues: all of them, or with per_queue a size for those that allow as much.
func (p *Plan) fit(split *spec.Split, s *spec.Spec, l *Lot) {
	own := Room{int64(s.Requirements.Walltime), s.Requirements.DiskMB}
	most := weighed(countedBy(split, s), split.MaxPerJob)
	each := float64(l.Bytes) / float64(max(l.Events, 1))
	var rooms []Room
	for _, r := range p.limits {
		rooms = append(rooms, Room{lesser(r.Walltime, own.Walltime), lesser(r.Scratch, own.Scratch)})
	}
	rooms = p.roomy(rooms, l)
	if len(rooms) == 0 { // nowhere at the moment
		rooms = []Room{own}
	}
	of := func(r Room) size {
		size := size{most: most, Walltime: float64(r.Walltime), Scratch: float64(r.Scratch)}
		if p.Model.seconds == 0 && split.PerJob > 0 {
			size.most = weighed(countedBy(split, s), lesser(split.PerJob, split.MaxPerJob))
		}
		if p.Model.seconds > 0 && size.Walltime == 0 && size.most == (Weight{}) {
			size.Walltime = unboundedWalltime
		}
		if !p.Model.known(size) {
			size.most = weighed(countedBy(split, s), max(split.PerJob, 1))
		}
		return size
	}
	slices.SortStableFunc(rooms, func(a, b Room) int {
		return cmp.Compare(of(b).events(p.Model, 0, each), of(a).events(p.Model, 0, each))
	})
	all := rooms[0]
	p.Sizes = []size{of(all)}
	for _, r := range rooms[1:] { // what fits here fits the larger ones too
		all = Room{lesser(all.Walltime, r.Walltime), lesser(all.Scratch, r.Scratch)}
		last := len(p.Sizes) - 1
		smaller := of(all)
		far := 2*smaller.events(p.Model, 0, each) <= p.Sizes[last].events(p.Model, 0, each)
		if split.PerQueue && far && len(p.Sizes) < maxSizes {
			p.Sizes = append(p.Sizes, smaller)
		} else {
			p.Sizes[last] = smaller
		}
	}
	if p.Model.seconds == 0 && own.Walltime > 0 { // nobody knows what a piece takes: what it may at all these queues
		p.need.WalltimeS = all.Walltime
	}
}

// roomy leaves out the queues that are too small for an event of a lot, or by inputs for one of its inputs: else they would cut all
// of it into the least pieces, and run none of these. Where no queue is large enough all of them stay.
func (p *Plan) roomy(rooms []Room, l *Lot) []Room {
	least := Weight{Events: 1}
	if l.Bytes > 0 {
		least = Weight{Inputs: 1, Events: 1, Bytes: l.Bytes / max(l.N, 1)}
	}
	if !p.Shared {
		least.Events = max(l.Events/max(l.N, 1), 1)
	}
	large := slices.DeleteFunc(slices.Clone(rooms), func(r Room) bool {
		return !size{Walltime: float64(r.Walltime), Scratch: float64(r.Scratch)}.Fits(p.Model, least)
	})
	if len(large) == 0 {
		return rooms
	}
	return large
}

// Scratches are what the queues of a plan allow, the least first.
func (p *Plan) Scratches() (mb []float64) {
	for _, l := range p.limits {
		mb = append(mb, float64(l.Scratch))
	}
	slices.Sort(mb)
	return slices.Compact(mb)
}

// known says whether the model bounds a piece of this size at all.
func (m Model) known(s size) bool {
	return s.most != Weight{} || m.seconds > 0 && s.Walltime > 0 || m.disk && s.Scratch > 0
}

// lesser of two bounds, of which 0 is none.
func lesser(a, b int64) int64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Requirements of the pieces of a size: those of the largest one that fits.
func (p *Plan) Requirements(s size, each float64) job.Requirements {
	w := Weight{Inputs: 1, Events: s.events(p.Model, 0, each)}
	if w.Events == math.MaxInt64 {
		w.Events = 1
	}
	w.Bytes = int64(each * float64(w.Events))
	r := p.NeedOf(w)
	if s.Walltime > 0 && (p.Model.Walltime(w) > 0 || r.WalltimeS > 0) {
		r.WalltimeS = int64(s.Walltime)
	}
	if s.Scratch > 0 && p.Model.disk {
		r.DiskMB = int64(s.Scratch)
	}
	return r
}

// NeedOf a piece of this weight: what the model says, rounded up so that there are few shapes, but not beyond what a queue allows.
func (p *Plan) NeedOf(w Weight) job.Requirements {
	r := p.need
	if seconds := p.Model.Walltime(w); seconds > 0 {
		r.WalltimeS = p.rounded(seconds, func(l Room) int64 { return l.Walltime })
	}
	if mb := p.Model.scratch(w); mb > 0 {
		r.DiskMB = p.rounded(mb, func(l Room) int64 { return l.Scratch })
	}
	return r
}

func (p *Plan) rounded(x float64, limit func(Room) int64) int64 {
	n, up := int64(math.Ceil(min(x, 1<<50))), RoundedUp(x)
	for _, l := range p.limits {
		if most := limit(l); most >= n && most < up {
			up = most
		}
	}
	return up
}

// RoundedUp has four digits of ones and zeros at most, so that figures that differ little are the same: at most an eighth more.
func RoundedUp(x float64) int64 {
	n := int64(math.Ceil(min(x, 1<<50)))
	step := int64(1)
	for n/step >= 16 {
		step *= 2
	}
	return spec.Ceil(n, step) * step
}
