package generator

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

// plan is how a lot is cut, by its task and the queues in force.
type plan struct {
	model  model
	need   job.Requirements // of its pieces, but what the model says
	shared bool
	sizes  []size // the largest first; their shapes are not known yet
	limits []room // of the queues that may run it
}

// room is what a queue allows a job; 0 is no bound.
type room struct{ walltime, scratch int64 }

// planOf makes the plan of a lot of a checked task that has lots.
func planOf(s *spec.Spec, l *lot, queues []shares.Queue) plan {
	split := splitOrDefault(s)
	p := plan{need: lotShape(s, l), shared: countedBy(split, s) == spec.ByEvents}
	anywhere := p.need
	if split.Fit {
		anywhere.WalltimeS, anywhere.DiskMB = 0, 0
	}
	power := math.Inf(1)
	for _, q := range queues {
		if job.RunsAt(anywhere, q) {
			p.limits = append(p.limits, room{q.WalltimeS, q.DiskMB})
			power = min(power, float64(q.CorePowerMilli)/1000)
		}
	}
	p.model = modelOf(split, s.Requirements.Cores, power)
	p.model.disk = p.model.output > 0 || p.model.work > 0 || split.Fit && l.Bytes > 0
	if split.Fit {
		p.fit(split, s, l)
	} else {
		p.sizes = []size{{most: weighed(countedBy(split, s), split.PerJob)}}
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

// model of pieces at queues whose slowest cores have this power.
func modelOf(p *spec.Split, cores int, power float64) model {
	if math.IsInf(power, 1) || power <= 0 {
		power = 1
	}
	return model{seconds: p.CPUPerEvent / (float64(max(cores, 1)) * power * cmp.Or(p.Efficiency, spec.Efficiency)),
		base: float64(p.BaseWalltime), output: p.OutputPerEvent, work: float64(p.WorkMB)}
}

// weighed is a weight of which one figure is given.
func weighed(by string, n int64) weight {
	switch by {
	case spec.ByEvents:
		return weight{events: n}
	case spec.ByBytes:
		return weight{bytes: n}
	}
	return weight{inputs: n}
}

// fit makes the sizes of pieces that fit their queues: all of them, or with per_queue a size for those that allow as much.
func (p *plan) fit(split *spec.Split, s *spec.Spec, l *lot) {
	own := room{int64(s.Requirements.Walltime), s.Requirements.DiskMB}
	most := weighed(countedBy(split, s), split.MaxPerJob)
	each := float64(l.Bytes) / float64(max(l.Events, 1))
	var rooms []room
	for _, r := range p.limits {
		rooms = append(rooms, room{lesser(r.walltime, own.walltime), lesser(r.scratch, own.scratch)})
	}
	rooms = p.roomy(rooms, l)
	if len(rooms) == 0 { // nowhere at the moment
		rooms = []room{own}
	}
	of := func(r room) size {
		size := size{most: most, walltime: float64(r.walltime), scratch: float64(r.scratch)}
		if p.model.seconds == 0 && split.PerJob > 0 {
			size.most = weighed(countedBy(split, s), lesser(split.PerJob, split.MaxPerJob))
		}
		if p.model.seconds > 0 && size.walltime == 0 && size.most == (weight{}) {
			size.walltime = unboundedWalltime
		}
		if !p.model.known(size) {
			size.most = weighed(countedBy(split, s), max(split.PerJob, 1))
		}
		return size
	}
	slices.SortStableFunc(rooms, func(a, b room) int {
		return cmp.Compare(of(b).events(p.model, 0, each), of(a).events(p.model, 0, each))
	})
	all := rooms[0]
	p.sizes = []size{of(all)}
	for _, r := range rooms[1:] { // what fits here fits the larger ones too
		all = room{lesser(all.walltime, r.walltime), lesser(all.scratch, r.scratch)}
		last := len(p.sizes) - 1
		smaller := of(all)
		far := 2*smaller.events(p.model, 0, each) <= p.sizes[last].events(p.model, 0, each)
		if split.PerQueue && far && len(p.sizes) < maxSizes {
			p.sizes = append(p.sizes, smaller)
		} else {
			p.sizes[last] = smaller
		}
	}
	if p.model.seconds == 0 && own.walltime > 0 { // nobody knows what a piece takes: what it may at all these queues
		p.need.WalltimeS = all.walltime
	}
}

// roomy leaves out the queues that are too small for an event of a lot, or by inputs for one of its inputs: else they would cut all
// of it into the least pieces, and run none of these. Where no queue is large enough all of them stay.
func (p *plan) roomy(rooms []room, l *lot) []room {
	least := weight{events: 1}
	if l.Bytes > 0 {
		least = weight{inputs: 1, events: 1, bytes: l.Bytes / max(l.N, 1)}
	}
	if !p.shared {
		least.events = max(l.Events/max(l.N, 1), 1)
	}
	large := slices.DeleteFunc(slices.Clone(rooms), func(r room) bool {
		return !size{walltime: float64(r.walltime), scratch: float64(r.scratch)}.fits(p.model, least)
	})
	if len(large) == 0 {
		return rooms
	}
	return large
}

// scratches are what the queues of a plan allow, the least first.
func (p *plan) scratches() (mb []float64) {
	for _, l := range p.limits {
		mb = append(mb, float64(l.scratch))
	}
	slices.Sort(mb)
	return slices.Compact(mb)
}

// known says whether the model bounds a piece of this size at all.
func (m model) known(s size) bool {
	return s.most != weight{} || m.seconds > 0 && s.walltime > 0 || m.disk && s.scratch > 0
}

// lesser of two bounds, of which 0 is none.
func lesser(a, b int64) int64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// requirements of the pieces of a size: those of the largest one that fits.
func (p *plan) requirements(s size, each float64) job.Requirements {
	w := weight{inputs: 1, events: s.events(p.model, 0, each)}
	if w.events == math.MaxInt64 {
		w.events = 1
	}
	w.bytes = int64(each * float64(w.events))
	r := p.of(w)
	if s.walltime > 0 && (p.model.walltime(w) > 0 || r.WalltimeS > 0) {
		r.WalltimeS = int64(s.walltime)
	}
	if s.scratch > 0 && p.model.disk {
		r.DiskMB = int64(s.scratch)
	}
	return r
}

// of a piece of this weight: what the model says, rounded up so that there are few shapes, but not beyond what a queue allows.
func (p *plan) of(w weight) job.Requirements {
	r := p.need
	if seconds := p.model.walltime(w); seconds > 0 {
		r.WalltimeS = p.rounded(seconds, func(l room) int64 { return l.walltime })
	}
	if mb := p.model.scratch(w); mb > 0 {
		r.DiskMB = p.rounded(mb, func(l room) int64 { return l.scratch })
	}
	return r
}

func (p *plan) rounded(x float64, limit func(room) int64) int64 {
	n, up := int64(math.Ceil(min(x, 1<<50))), roundedUp(x)
	for _, l := range p.limits {
		if most := limit(l); most >= n && most < up {
			up = most
		}
	}
	return up
}

// roundedUp has four digits of ones and zeros at most, so that figures that differ little are the same: at most an eighth more.
func roundedUp(x float64) int64 {
	n := int64(math.Ceil(min(x, 1<<50)))
	step := int64(1)
	for n/step >= 16 {
		step *= 2
	}
	return spec.Ceil(n, step) * step
}
