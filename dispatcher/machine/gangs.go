package machine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/dispatcher/resource"
)

// gathering is the part of a decision that looks at gangs. Where shares and priority come to the first job of one, all of it start in
// the pulls that wait at the node, or hold them, or are passed over. One gang is one step in the order of shares.
type gathering struct{ *round }

// A decision looks at so many gangs of a buffer that could start, and at so many in all.
const (
	gangsTried  = 8
	gangsLooked = 64
)

// gangAt is a gang that a pull may come to: where the first of its jobs stands.
type gangAt struct {
	gate.Gang
	leaf int
	turn ready.Turn
}

// gather looks at gangs: the one for which the node is held, then those to which shares and priority
// come before any other job. decided is false when the decision is about other jobs.
func (r gathering) gather() (verdict Verdict, decided bool) {
	if len(r.sorts.open) == 0 || r.pull.Node == "" || r.looks {
		return None, false
	}
	by := r.sorts.nodes.HeldFor(r.offer().Place, r.supplies.Moment)
	if by != 0 {
		if held, ok := r.claims.Gang(by, r.sorts.countReady); !ok {
			r.sorts.nodes.LetGo(by)
		} else if verdict, decided = r.try(held); decided {
			return verdict, true
		}
	}
	for list := r.candidates(); len(list) > 0; {
		i := r.inTurn(list)
		if i < 0 {
			break
		}
		if list[i].Claim != by {
			if verdict, decided = r.try(list[i].Gang); decided {
				return verdict, true
			}
		}
		list = slices.Delete(list, i, i+1)
	}
	return None, false
}

// candidates are the gangs with a job that the slot may run, by leaf and in the order of their first jobs.
func (r gathering) candidates() (list []gangAt) {
	seen := map[int64]bool{}
	for b := range r.sorts.open {
		if !r.reaches(b) || b.shape.sort.Need.Bound() && b.shape.sort.Need.Place() != r.offer().Place {
			continue
		}
		looked, tried := 0, 0
		for first := range b.Ranges() {
			for ids, party := range r.claims.Split(first.Low, first.High) {
				if looked++; looked > gangsLooked || tried >= gangsTried || party == nil {
					break
				}
				claim, ok := r.claims.GangOf(ids.Low)
				if !ok || seen[claim] {
					continue
				}
				seen[claim] = true
				g, _ := r.claims.Gang(claim, r.sorts.countReady)
				if g.Lacks != "" || !r.takesTask(r.pull, g.Task) {
					continue
				}
				tried++
				list = append(list, gangAt{g, b.leaf, b.user.TurnIn(r.queue.Home, ready.Stand{Place: first.Place, ID: ids.Low})})
			}
			if looked > gangsLooked || tried >= gangsTried {
				break
			}
		}
	}
	slices.SortFunc(list, func(a, b gangAt) int {
		return cmp.Or(cmp.Compare(a.leaf, b.leaf), a.turn.Compare(b.turn))
	})
	return list
}

func (r gathering) takesTask(p *Pull, task int64) bool {
	user, _ := r.state.ready.User(task)
	return (p.Only.Task == 0 || p.Only.Task == task) && (p.Only.User == "" || p.Only.User == user)
}

// inTurn is the gangAt whose turn it is, −1 if it is that of a job without a gang: leaf by leaf as for any other job, and in the
// leaf by its users' turns and by place.
func (r gathering) inTurn(list []gangAt) int {
	book := r.queue.Home.Book
	var added []int
	for _, c := range list {
		if !r.set.Has(book, c.leaf) {
			r.set.Set(book, c.leaf, true)
			added = append(added, c.leaf)
		}
	}
	first, _ := r.choose(nil)
	for _, leaf := range added {
		r.set.Set(book, leaf, false)
	}
	i := slices.IndexFunc(list, func(c gangAt) bool { return c.leaf == first.leaf })
	if i < 0 || slices.Contains(added, first.leaf) {
		return i
	}
	found, _ := r.best(first)
	r.enter()
	if found.buffer != nil && found.turn.Before(list[i].turn) {
		return -1
	}
	return i
}

// member is a job of a gang.
type member struct {
	party *gate.Party
	log   ready.Key
	job   ready.Range // Low is the job
	shape *shape
	user  string
}

// members are the jobs of a gang, in the order of their ids.
func (so *sorts) members(g gate.Gang) (list []member) {
	for _, p := range g.Parties {
		user, _ := so.ready.User(p.Task)
		for _, w := range so.readyOf(p) {
			log := so.buffers[w.Key].log()
			for r := w.Range; r.Low <= r.High; r.Low++ {
				list = append(list, member{p, log, r, so.words.shapes[log.Shape], user})
			}
		}
	}
	slices.SortFunc(list, func(a, b member) int { return cmp.Compare(a.job.Low, b.job.Low) })
	return list
}

// try has a gang do what it does with the slot; decided says whether that is all of the decision.
func (r gathering) try(g gate.Gang) (verdict Verdict, decided bool) {
	at := r.offer().Place
	pass := func() (Verdict, bool) { // it does not start here, and the slot is for others
		r.sorts.nodes.LetGoAt(at, g.Claim)
		return None, false
	}
	waits := func(why string) (Verdict, bool) {
		r.sorts.nodes.Note(at, g.Claim, why, r.supplies.Moment)
		return pass()
	}
	if g.Lacks != "" {
		return pass()
	}
	all := r.sorts.members(g)
	offers := r.offersFor(g, all)
	if len(all) == 0 || !r.fits(all) {
		return waits("the queue does not run all of them")
	}
	devices := r.devicesOf(offers)
	switch _, why := r.claims.AdmitsGang(g, resource.Offer{Place: at, Devices: devices}); why {
	case "":
	case resource.ClaimNeedsDevices:
		return waits("the slots that ask there have too few devices that are free")
	default:
		return waits("its claims are not to be had there: " + string(why))
	}
	if lacked := r.gangLacks(g, all); lacked.Gate != "" {
		r.decision.Lacked = lacked
		return waits(fmt.Sprintf("all of it needs %d of %s: %s", lacked.Needed, lacked.Ref, lacked.Gate))
	}
	t := gate.Try{Place: at, Claim: g.Claim, Needs: needsOf(all), Busy: r.busy(), Now: r.supplies.Moment, Another: func() bool { return r.another(g) }}
	for _, o := range offers {
		t.Offers = append(t.Offers, gate.Slot{Pilot: o.pull.Pilot, Room: o.room})
	}
	a := r.sorts.nodes.Try(t)
	switch a.Verdict {
	case resource.GangStarts:
		r.start(all, offers, a.At)
		r.sorts.nodes.Started(at, g.Claim)
		return Given, true
	case resource.GangHolds:
		r.reserved = map[int]bool{}
		r.sorts.nodes.Note(at, g.Claim, a.Why, r.supplies.Moment)
		for i, use := range a.Use {
			r.reserved[offers[i].to] = use
		}
		if !r.reserved[0] {
			return None, false // it does not use this slot
		}
		r.decision.Until, r.decision.Lacked = a.Hold.Until(), Refusal{Gate: gate.GangHold, Ref: fmt.Sprint(g.Claim)}
		return Held, true
	}
	return waits(a.Why)
}

// another says whether slots of the node could be held for another gang.
func (r gathering) another(g gate.Gang) bool {
	return slices.ContainsFunc(r.candidates(), func(c gangAt) bool { return c.Claim != g.Claim && !r.sorts.nodes.Holds(c.Claim) })
}

// start gives all jobs of a gang to the pulls that they go into.
func (r gathering) start(all []member, offers []gangOffer, into []int) {
	offer := resource.Offer{Place: r.offer().Place, Devices: r.devicesOf(offers)}
	for i, o := range offers {
		for m, each := range all {
			if into[m] == i {
				b := r.buffers[r.sorts.keyOf(each.log, each.party, each.user)] // it is another one when the claim is bound
				job := each.job
				job.High = job.Low
				r.give(o.to, choice{buffer: b, job: job}, offer)
			}
		}
	}
}

// gangOffer is a pull that waits at the node, and what is left of its slot.
type gangOffer struct {
	pull *Pull
	to   int // see Decision.To
	room resource.Room
}

// offersFor are the pulls that wait at the node and take jobs of a gang, but those that are held for another one or have had jobs
// by this decision.
func (r gathering) offersFor(g gate.Gang, all []member) (offers []gangOffer) {
	for to := range r.nth {
		p, room, most := r.pull, r.left, r.most
		if to > 0 {
			p = p.Beside[to-1]
			room, most = job.RoomOf(p.Slot, r.queue.Queue), max(1, p.Most)
		}
		if to > 0 && (r.nth[to] > 0 || p.Queue != r.pull.Queue || p.Node != r.pull.Node) || r.reserved[to] || len(all) == 0 || !r.takesTask(p, g.Task) ||
			!p.Only.Takes(all[0].shape.Need.Label) || room.Cores < 1 || room.MemoryMB < 1 || room.DiskMB < 1 {
			continue
		}
		offers = append(offers, gangOffer{p, to, resource.Room{Cores: int64(room.Cores), MemoryMB: room.MemoryMB, DiskMB: room.DiskMB,
			WalltimeS: room.WalltimeS, Jobs: int64(most), Labels: p.labels(r.queue)}})
	}
	return offers
}

// devicesOf are those of all pulls that are offered to a gang: a claim's may be of several slots.
func (r gathering) devicesOf(offers []gangOffer) (devices []string) {
	for _, o := range offers {
		for _, id := range o.pull.Devices {
			if !slices.Contains(devices, id) {
				devices = append(devices, id)
			}
		}
	}
	return devices
}

// busy is what jobs at the node of the pull take, by pilot.
func (r gathering) busy() map[string]resource.Room {
	rooms := map[string]resource.Room{}
	for _, id := range r.leases.At(r.pull.Node) {
		if l := r.leases.Run(id); l.Queue == r.queue.ID {
			room, need := rooms[r.leases.Pilot(l)], r.words.shapes[l.Shape].Need
			room.Cores, room.MemoryMB, room.DiskMB, room.Jobs = room.Cores+int64(need.Cores), room.MemoryMB+need.MemoryMB, room.DiskMB+need.DiskMB, room.Jobs+1
			rooms[r.leases.Pilot(l)] = room
		}
	}
	return rooms
}

// fits says whether the queue runs all jobs of a gang, for one leaf.
func (r gathering) fits(all []member) bool {
	for _, m := range all {
		leaf, ok := r.site.Leaf(m.log.Share)
		if need := m.shape.Need; !ok || m.log.Share != all[0].log.Share || !r.queue.Policy.Admits(leaf) || job.Fits(need, r.queue.Queue, need.Labels) != "" {
			return false
		}
	}
	return true
}

// needsOf is what jobs of a gang need of slots.
func needsOf(all []member) []resource.Need {
	needs := make([]resource.Need, len(all))
	for i, m := range all {
		n := m.shape.Need
		needs[i] = resource.Need{Name: fmt.Sprint("job ", m.job.Low), Cores: int64(n.Cores), MemoryMB: n.MemoryMB, DiskMB: n.DiskMB, WalltimeS: n.WalltimeS, Labels: n.Labels}
	}
	return needs
}

// gangLacks is what keeps a gang as a whole from the queue: a hard limit, lending, or resources. The zero refusal: nothing does.
func (r gathering) gangLacks(g gate.Gang, all []member) (no Refusal) {
	leaf, _ := r.site.Leaf(all[0].log.Share)
	fits := make([]*books.Fit, len(all))
	for i, m := range all {
		fits[i] = &m.shape.Fit
	}
	if no = r.site.AdmitsAll(r.queue, leaf, fits); no.Gate != "" {
		return no
	}
	sum := g.Pending() // once for what their claims are to hold, and for what each of them holds
	for _, m := range all {
		for ref, units := range m.shape.full.Resources {
			sum[ref] += units
		}
	}
	payer := r.buffers[r.sorts.keyOf(all[0].log, all[0].party, all[0].user)].shape.asked.Payer
	for _, a := range gate.AsksOf(sum) {
		if !r.supplies.Find(&a) {
			return Refusal{Gate: gate.Unknown, Ref: a.Ref, Needed: a.Units}
		}
		sup := r.supplies.At(&a, &r.queue.Queue)
		if ok, why := sup.Book.Admits(r.supplies.SharingID(a.Of, payer, all[0].log.Share), a.Units, r.supplies.Moment); !ok {
			sup.Refused(why, a.Units)
			return sup.Why
		}
	}
	return Refusal{}
}
