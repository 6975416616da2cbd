package resource

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// Spec is a resource as the site file has it. Split says how its units are shared out.
type (
	Spec  = shares.Resource
	Split = shares.Split
	Node  = shares.SplitNode
)

// noReport is what the outside leaves while external use is not reported.
const noReport = math.MaxInt64

// Pool is the standing of all sharing IDs in the units of one resource: of one queue with PerQueue, of one key with Keyed.
// For one goroutine at a time. Units are whole.
type Pool struct {
	name     string
	spec     Spec
	capacity int64
	outside  int64 // total − use that is not ours; noReport
	held     int64 // of all

	exemptHeld int64 // of it, by exempt IDs; it is not split

	index   map[string]int32
	members []member
	groups  groups
	seq     uint64 // of the last grant
	horizon uint64 // the last grant of those that were forgotten
	exactly int    // so many IDs are split among after every change, see weighted
	split   split
	kept    kept
	booked  *Bundle
	wanting map[*Bundle]struct{} // with jobs
}

// member is one sharing ID.
type member struct {
	name   string
	group  int32
	weight float64
	exempt bool
	held   int64
	want   int64  // by Want
	jobs   int64  // wanted by bundles
	last   uint64 // sequence number of its last grant
	lapsed bool   // when it was last let pass, it was as a reservation had ended
}

// demand is D. Held may be below 0 for a moment where ends are heard of before their grants.
func (m *member) demand() int64 { return max(0, m.held) + m.wanted() }

func (m *member) wanted() int64 { return m.want + m.jobs }

func (m *member) idle() bool { return m.held == 0 && m.wanted() == 0 }

// NewPool is the standing of a resource that nobody uses, with the capacity of the file. The spec must be valid.
func NewPool(s Spec) *Pool {
	p := &Pool{name: s.Name, spec: s, capacity: s.Capacity, outside: noReport,
		index: map[string]int32{}, wanting: map[*Bundle]struct{}{}, groups: groupsOf(s.Split), exactly: mostExact}
	p.split = newSplit(p)
	return p
}

// Name is the resource's name, with the key of a family: table:orders.
func (p *Pool) Name() string { return p.name }

// SetCapacity changes the number of units. Less than is held ends nothing: there is no grant until enough has come back.
func (p *Pool) SetCapacity(n int64) {
	p.capacity = max(0, n)
	p.changed()
}

// SetExternal notes what the owner of the units says, such as a licence server: so many there are, so many are in use,
// ours included as it sees them. Settled is what we held then for longer than Settle: the rest of our own may
// not be in used yet, and counts as used by others until the next report.
func (p *Pool) SetExternal(total, used, settled int64) {
	p.outside = max(0, total-max(0, used-settled))
	p.changed()
}

// ClearExternal forgets the report: it is too old.
func (p *Pool) ClearExternal() {
	p.outside = noReport
	p.changed()
}

// Capacity is the number of units by configuration.
func (p *Pool) Capacity() int64 { return p.capacity }

// Usable is the number of units that we may hold: the capacity, or less where others use the same units.
func (p *Pool) Usable() int64 { return min(p.capacity, p.outside) }

// Held is what all IDs hold together.
func (p *Pool) Held() int64 { return p.held }

// Kept is how many of the free units are kept for IDs below their allowance, because another ID was refused.
func (p *Pool) Kept() int64 { return min(p.kept.units, max(0, p.Usable()-p.held)) }

// HeldBy is what an ID holds.
func (p *Pool) HeldBy(id string) int64 { return p.known(id).held }

// WantedBy is what an ID could use beyond what it holds.
func (p *Pool) WantedBy(id string) int64 { return p.known(id).wanted() }

// Idle reports whether no units are held or wanted.
func (p *Pool) Idle() bool {
	for i := range p.members {
		if !p.members[i].idle() {
			return false
		}
	}
	return true
}

// Hold adds units, which may be negative, to what an ID holds. It is no grant.
func (p *Pool) Hold(id string, units int64) {
	i := p.member(id)
	m := &p.members[i]
	if units > 0 && m.lapsed {
		p.kept.use(units)
		m.lapsed = false
	}
	m.held += units
	p.held += units
	if m.exempt {
		p.exemptHeld += units
	}
	p.split.touch(i)
}

// Want says what an ID could use beyond what it holds: the ready units that some slot could run, but those of bundles that
// were told so. Less than 0 counts as 0.
func (p *Pool) Want(id string, units int64) {
	i := p.member(id)
	if m := &p.members[i]; m.want != max(0, units) {
		m.want = max(0, units)
		p.split.touch(i)
	}
}

func (p *Pool) wantMore(id string, units int64) {
	if units != 0 {
		i := p.member(id)
		p.members[i].jobs += units
		p.split.touch(i)
	}
}

// part is what is split over the IDs that are not exempt.
func (p *Pool) part() int64 { return max(0, p.Usable()-p.exemptHeld) }

// changed notes that what is split is another number of units.
func (p *Pool) changed() {
	p.split.void()
	for b := range p.wanting {
		b.measure()
	}
}

// allowances is what each member may hold now, and what of it is not an odd unit. Exempt ones may hold what they want.
func (p *Pool) allowances() (all, floor []int64) {
	all, floor = make([]int64, len(p.members)), make([]int64, len(p.members))
	p.split.allowances(p, all, floor)
	for i := range p.members {
		if m := &p.members[i]; m.exempt {
			all[i] = min(m.demand(), p.Usable())
			floor[i] = all[i]
		}
	}
	return all, floor
}

// waiting lists the members that hold less than their allowance, in the order of split.below.
func (p *Pool) waiting(all, floor []int64) (list []int32) {
	for i := range p.members {
		if m := &p.members[i]; !m.exempt && m.held < all[i] {
			list = append(list, int32(i))
		}
	}
	slices.SortFunc(list, func(a, b int32) int {
		x, y := &p.members[a], &p.members[b]
		return cmp.Or(cmp.Compare(x.precedence(floor[a]), y.precedence(floor[b])), x.compare(y))
	})
	return list
}

// precedence is a number that is less for whom units are for first: who is below its exact part rounded down, then who holds
// least for its weight.
func (m *member) precedence(floor int64) int64 {
	by := int64(math.Float64bits(float64(max(0, m.held))/m.weight) >> 1) // of numbers that are not negative bits are in order
	if m.held >= floor {
		by |= 1 << 62
	}
	return by
}

// Next lists the IDs whose turn it is to get the units that are free; all is true where there is enough for everybody, or
// turns are by equal weights.
func (p *Pool) Next(now time.Time) (ids []string, all bool) { return p.split.next(p, now) }

// byName is the last of all ties.
func (p *Pool) byName(a, b int32) bool { return p.members[a].name < p.members[b].name }

// Allowance is what one ID holds, wants and may hold.
type Allowance struct {
	ID        string  `json:"id"`
	Weight    float64 `json:"weight" doc:"Among its siblings."`
	Exempt    bool    `json:"exempt,omitempty" doc:"Only the capacity bounds it."`
	Held      int64   `json:"held"`
	Wanted    int64   `json:"wanted" doc:"Ready units that some slot could run."`
	Allowance int64   `json:"allowance" doc:"What it may hold now."`
	Waited    uint64  `json:"waited" doc:"Grants to others since its last one."`
}

// Allowances lists the IDs that hold or want something, by name.
func (p *Pool) Allowances() []Allowance {
	var out []Allowance
	all, _ := p.allowances()
	for i := range p.members {
		m := &p.members[i]
		if m.idle() {
			continue
		}
		out = append(out, Allowance{ID: m.name, Weight: m.weight, Exempt: m.exempt, Held: m.held, Wanted: m.wanted(),
			Allowance: all[i], Waited: p.seq - m.last})
	}
	slices.SortFunc(out, func(a, b Allowance) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
