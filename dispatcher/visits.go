package dispatcher

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// visits are the pulls at a queue, of all daemons, since this one leads.
type visits struct {
	waiting int
	free    int64 // cores of the pulls that wait
	given   parts // pulls that got jobs
	pilots  map[string]visit
	forgot  time.Time                // when those were dropped that pulled long ago
	nodes   map[string]explain.Waits // of pulls that wait
}

// visit is the last pull of a pilot.
type visit struct {
	at time.Time
	explain.Pilot
}

// A pilot that pulled so long ago is not one of its queue any more; no more than so many are known of a queue.
const (
	visitsKept = 5 * time.Minute
	mostVisits = 1 << 16
)

// at are the visits of a queue. l.mu is held.
func (l *lately) at(id shares.QueueID) *visits {
	v := l.queues[id]
	if v == nil {
		v = &visits{pilots: map[string]visit{}, nodes: map[string]explain.Waits{}}
		l.queues[id] = v
	}
	return v
}

func (l *lately) cores(p *machine.Pull) int64 {
	q, ok := l.queue(p.Queue)
	if !ok {
		return 0
	}
	if p.Slot.Cores == 0 && q.Cores == 0 {
		return int64(max(1, p.Most))
	}
	return int64(job.RoomOf(p.Slot, q).Cores)
}

// Came is lease.Watch's.
func (l *lately) Came(p *machine.Pull) {
	cores, last := l.cores(p), visit{at: time.Now(), Pilot: explain.Pilot{Node: p.Node, Devices: p.Devices}}
	if !p.Only.None() {
		only := p.Only // a copy: a pointer to p.Only would keep the pull in memory
		last.Only = &only
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.at(p.Queue)
	v.waits(p.Node, 1, cores)
	v.note(p.Pilot, last)
}

// Went is lease.Watch's.
func (l *lately) Went(p *machine.Pull, waited time.Duration, given []machine.Lease) {
	cores := l.cores(p)
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.at(p.Queue)
	if v.waits(p.Node, -1, -cores); len(given) > 0 {
		v.given.add(pullPart, 1, waited)
	}
}

// waits counts a pull that waits, or does so no more.
func (v *visits) waits(node string, n int, cores int64) {
	v.waiting += n
	v.free += cores
	if node == "" {
		return
	}
	at := v.nodes[node]
	if at = (explain.Waits{Slots: at.Slots + n, Cores: at.Cores + cores}); at.Slots == 0 {
		delete(v.nodes, node)
		return
	}
	v.nodes[node] = at
}

// atNodes are the slots and cores that wait where some are held.
func (l *lately) atNodes(holds []gate.NodeHold) map[resource.Place]explain.Waits {
	if len(holds) == 0 {
		return nil
	}
	all := map[resource.Place]explain.Waits{}
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, v := range l.queues {
		q, _ := l.queue(id)
		for _, h := range holds {
			if h.Place.Queue == q.Name {
				all[h.Place] = v.nodes[h.Place.Node]
			}
		}
	}
	return all
}

// note is the last pull of a pilot. When there are too many those go that pulled long ago, and then new ones do not count.
func (v *visits) note(pilot string, last visit) {
	if _, known := v.pilots[pilot]; !known && len(v.pilots) >= mostVisits {
		if v.forget(); len(v.pilots) >= mostVisits {
			return
		}
	}
	v.pilots[pilot] = last
}

// forget drops pilots that pulled long ago, once a second at most: it looks at all of them.
func (v *visits) forget() {
	now := time.Now()
	if now.Sub(v.forgot) < time.Second {
		return
	}
	v.forgot = now
	maps.DeleteFunc(v.pilots, func(_ string, p visit) bool { return now.Sub(p.at) > visitsKept })
}

// PullsAt is explain.Pulls's.
func (l *lately) PullsAt(id shares.QueueID) (pilots, waiting int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.queues[id]
	if v == nil {
		return 0, 0
	}
	v.forget()
	return len(v.pilots), v.waiting
}

// FreeAt is explain.Pulls's.
func (l *lately) FreeAt(id shares.QueueID) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if v := l.queues[id]; v != nil {
		return max(0, v.free) // the figures of a queue may have changed while a pull waited
	}
	return 0
}

// SeenAt lists the names of pilots that pulled at a queue in the last five minutes and begin with a prefix.
func (l *lately) SeenAt(id shares.QueueID, prefix string) []string {
	names := []string{}
	l.mu.Lock()
	defer l.mu.Unlock()
	if v := l.queues[id]; v != nil {
		v.forget()
		for name := range v.pilots {
			if strings.HasPrefix(name, prefix) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// PilotsAt is explain.Pulls's.
func (l *lately) PilotsAt(id shares.QueueID) iter.Seq[explain.Pilot] {
	return func(yield func(explain.Pilot) bool) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if v := l.queues[id]; v != nil {
			v.forget()
			for _, p := range v.pilots {
				if !yield(p.Pilot) {
					return
				}
			}
		}
	}
}

// QueueLately is how a queue did in the last hour, and who holds its cores.
type QueueLately struct {
	Queue   string      `json:"queue"`
	Held    []QueueHeld `json:"held_by_share" doc:"By share, who holds most first."`
	Pulls   int64       `json:"pulls" doc:"Pulls that were given jobs in the last hour."`
	MeanS   float64     `json:"claim_wait_mean_s" doc:"Seconds that these waited for their jobs, on the average; 0 when there were none."`
	MostS   float64     `json:"claim_wait_max_s" doc:"The longest of these waits."`
	Ended   int64       `json:"ended" doc:"Attempts that finished, failed or were lost in the last hour."`
	Failed  int64       `json:"failed" doc:"Of these, those that failed or were lost."`
	Failure float64     `json:"failure_rate" doc:"failed / ended; 0 when none ended."`
	Since   time.Time   `json:"since" doc:"What the hour's figures begin with: an hour ago, or when the daemon that decides began to."`
}

// QueueHeld is what a share holds at a queue.
type QueueHeld struct {
	Share string `json:"share"`
	Cores int64  `json:"cores"`
	Jobs  int64  `json:"jobs"`
}

// QueuesLately says of every queue, or of one by its name, who holds its cores, and how it did in the last hour as far as this daemon heard
// of it. In file order.
func (r *Reads) QueuesLately(name string) []QueueLately {
	ctx, cancel := context.WithTimeout(context.Background(), nowWithin)
	defer cancel()
	type row struct {
		Queue  shares.QueueID
		Ended  int64
		Failed int64
	}
	ends := map[shares.QueueID]row{}
	rows, _ := pg.Collect[row](ctx, r.d.cfg.Pool, query["ended_lately"]) // without an answer: none are known
	for _, e := range rows {
		ends[e.Queue] = e
	}
	list, ids := []QueueLately{}, []shares.QueueID{}
	r.now(explain.Moment{}, func(m explain.Moment) { list, ids = heldBy(m.View, name) })
	r.lately.mu.Lock()
	defer r.lately.mu.Unlock()
	for i := range list {
		q := &list[i]
		if q.Since = time.Now().Add(-time.Hour).UTC(); r.lately.began.After(q.Since) {
			q.Since = r.lately.began
		}
		if v := r.lately.queues[ids[i]]; v != nil {
			n, sum, most := v.given.total(pullPart, latelyParts-1, true)
			if q.Pulls = n; n > 0 {
				q.MeanS, q.MostS = sum.Seconds()/float64(n), most.Seconds()
			}
		}
		if e := ends[ids[i]]; e.Ended > 0 {
			q.Ended, q.Failed, q.Failure = e.Ended, e.Failed, float64(e.Failed)/float64(e.Ended)
		}
	}
	return list
}

// heldBy sums up who holds what at queues, who holds most first. What claims hold is no job.
func heldBy(v machine.View, name string) (list []QueueLately, ids []shares.QueueID) {
	list = []QueueLately{}
	at := map[shares.QueueID]int{}
	held := map[shares.QueueID]map[shares.ShareID]QueueHeld{}
	for _, q := range v.Site.Queues {
		if name == "" || q.Name == name {
			at[q.ID], held[q.ID] = len(list), map[shares.ShareID]QueueHeld{}
			ids, list = append(ids, q.ID), append(list, QueueLately{Queue: q.Name, Held: []QueueHeld{}})
		}
	}
	for h := range v.Held() {
		need, known := v.Shape(h.Shape)
		if held[h.Queue] == nil || !known || need.Charges() || h.Jobs <= 0 {
			continue
		}
		sum := held[h.Queue][h.Share]
		sum.Share = pathOf(v.Site.Tree, h.Share)
		sum.Jobs, sum.Cores = sum.Jobs+h.Jobs, sum.Cores+h.Jobs*int64(need.Cores)
		held[h.Queue][h.Share] = sum
	}
	for id, of := range held {
		list[at[id]].Held = slices.AppendSeq(list[at[id]].Held, maps.Values(of))
		slices.SortFunc(list[at[id]].Held, func(a, b QueueHeld) int { return cmp.Or(-cmp.Compare(a.Cores, b.Cores), cmp.Compare(a.Share, b.Share)) })
	}
	return list, ids
}
