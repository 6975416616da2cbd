package explain

import (
	"cmp"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/wanted"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/pilots"
)

// WantedInput is the moment as package wanted sees it.
func (m Moment) WantedInput() wanted.Input {
	b := &demand{Moment: m, pools: map[string]int{}, supplies: map[string]int{}, places: map[*place]int{}}
	b.queues()
	b.leaves()
	places := placesOf(m.View)
	for r := range m.View.Ready() {
		need, known := m.View.Shape(r.Shape)
		if n := r.Ready + r.Expected; known && n > 0 && !need.Charges() && r.Leaf >= 0 {
			b.kind(r.Leaf, n, need, places.of(r))
		}
	}
	return b.in
}

// demand collects an Input.
type demand struct {
	Moment
	in       wanted.Input
	pools    map[string]int
	places   map[*place]int
	supplies map[string]int // by resource; none is known before the first job asks for one
}

func sizeOf(need job.Requirements) wanted.Size {
	return wanted.Size{Cores: need.Cores, MemoryMB: need.MemoryMB, WalltimeS: need.WalltimeS}
}

func (b *demand) queues() {
	site := b.View.Site
	at := make(map[shares.QueueID]int, len(site.Queues))
	for i, name := range poolsOf(site) {
		b.pools[name] = i
	}
	for i, q := range site.Queues {
		at[q.ID] = i
		w := wanted.Queue{Provision: q.Provision, Pool: b.pools[q.Pool], Power: q.CorePowerMilli, Slots: -1,
			HeldCores: b.View.Queue(q.ID).HeldCores, Held: map[wanted.Size]int64{}, Free: b.Pulls.FreeAt(q.ID)}
		if q.Slots != nil {
			w.Slots = int64(*q.Slots)
		}
		b.in.Queues = append(b.in.Queues, w)
	}
	for h := range b.View.Held() {
		i, there := at[h.Queue]
		need, known := b.View.Shape(h.Shape)
		if there && known && !need.Charges() && h.Jobs > 0 {
			b.in.Queues[i].Held[sizeOf(need)] += h.Jobs
		}
	}
}

// leaves notes what each share may hold beyond what it holds: its target if all capacity had pilots.
func (b *demand) leaves() {
	b.in.Leaves = make([]wanted.Leaf, len(b.View.Site.Tree.Nodes))
	for i := range b.in.Leaves {
		b.in.Leaves[i].Budget = map[int]int64{}
	}
	for name, i := range b.pools {
		view, ok := b.View.Pool(name)
		if !ok {
			continue
		}
		targets := view.Book.Targets(roundOf(view, view.Book.Demand(0)))
		for _, leaf := range b.View.Site.Tree.Leaves() {
			b.in.Leaves[leaf].Budget[i] = int64(targets[leaf]+0.5) - int64(view.Book.Held(leaf))
		}
	}
}

func (b *demand) kind(leaf int, jobs int64, need job.Requirements, at *place) {
	if len(at.at) == 0 {
		return
	}
	p, known := b.places[at]
	if !known {
		p = len(b.in.Places)
		b.places[at], b.in.Places = p, append(b.in.Places, at.at)
	}
	k := wanted.Kind{Leaf: leaf, Place: p, Size: sizeOf(need), Jobs: jobs}
	for ref, units := range need.Units() {
		if i, ok := b.supply(ref); ok {
			k.Units = append(k.Units, wanted.Units{Supply: i, N: units})
		}
	}
	b.in.Kinds = append(b.in.Kinds, k)
}

// supply finds the free units of a resource of the whole site; those of single queues do not count here.
func (b *demand) supply(ref string) (i int, ok bool) {
	if len(b.supplies) == 0 {
		b.supplies[""] = -1
		for _, s := range b.View.Shelves() {
			if s.Queue == nil && s.Book != nil {
				b.supplies[s.Ref] = len(b.in.Supplies)
				b.in.Supplies = append(b.in.Supplies, max(0, s.Book.Usable()-s.Book.Held()))
			}
		}
	}
	i, ok = b.supplies[ref]
	return i, ok
}

// QueueWanted is how many pilots a queue should have, and for whose jobs.
type QueueWanted struct {
	Queue string    `json:"queue"`
	At    time.Time `json:"at"`
	wanted.Pilots
	For       []WantedFor      `json:"for" doc:"The shares with the most ready and coming jobs that the queue may run, at most ten."`
	Provision pilots.Provision `json:"provision"`
	Seen      []string         `json:"seen,omitempty" doc:"Pilots that pulled here in the last five minutes and whose names begin with seen."`
}

// WantedFor counts jobs of a share.
type WantedFor struct {
	Share string `json:"share"`
	Jobs  int64  `json:"jobs" doc:"Ready and to come."`
}

const mostWantedFor = 10

// QueueWanted is that of a queue by its name; false when it has no provision.
func (m Moment) QueueWanted(queue shares.Queue) (out QueueWanted, ok bool) {
	now, ok := m.Wanted[queue.ID]
	if !ok {
		return out, false
	}
	out = QueueWanted{Queue: queue.Name, At: m.At.UTC(), Pilots: now, Provision: *queue.Provision, For: []WantedFor{}}
	at := slices.IndexFunc(m.View.Site.Queues, func(q shares.Queue) bool { return q.ID == queue.ID })
	places, jobs := placesOf(m.View), map[string]int64{}
	for r := range m.View.Ready() {
		if n := r.Ready + r.Expected; n > 0 && slices.Contains(places.of(r).at, at) {
			jobs[pathOf(m.View.Site, r.Share)] += n
		}
	}
	for share, n := range jobs {
		out.For = append(out.For, WantedFor{share, n})
	}
	slices.SortFunc(out.For, func(a, b WantedFor) int { return cmp.Or(-cmp.Compare(a.Jobs, b.Jobs), cmp.Compare(a.Share, b.Share)) })
	out.For = out.For[:min(len(out.For), mostWantedFor)]
	return out, true
}
