package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// playPilot is a pilot of the day.
type playPilot struct {
	req  PullRequest
	free int // cores
	rest int // steps until it asks again
}

// day100 is a play of a hundred shares and two hundred queues, with all that changes in a day.
type day100 struct {
	*play
	pilots []*playPilot
	leaves []string
	tasks  []int64
}

func TestRecordDay(t *testing.T) {
	if !*recordTapes {
		t.Skip("tapes are recorded with -record")
	}
	entries := recorded(t, "day", daySite(), func(p *play) {
		d := &day100{play: p}
		for _, leaf := range p.version.Tree.Leaves() {
			d.leaves = append(d.leaves, p.version.Tree.Nodes[leaf].Path)
		}
		for i := range 420 {
			d.pilots = append(d.pilots, d.newPilot(i))
		}
		for i := range d.leaves {
			d.work(i, 60+p.rnd.IntN(40))
		}
		for n := 0; p.tape.grants < 20000; n++ {
			d.step(n)
		}
	})
	comesOutAgain(t, entries)
}

// daySite has three levels of shares, of which some have figures beside their weight, and queues in two pools.
func daySite() (site playSite) {
	leaf := 0
	for i := range 4 {
		top := node(fmt.Sprint("a", i), float64(1+i))
		switch i {
		case 0:
			top.Plan.Owned, top.Plan.Lend = shares.Of(150_000), upTo(60_000)
		case 1:
			top.Plan.Owned, top.Plan.Borrow = shares.Of(200_000), upTo(150_000)
		}
		for j := range 5 {
			middle := node(fmt.Sprint("m", j), float64(1+j))
			for k := range 5 {
				middle.Children = append(middle.Children, planned(fmt.Sprint("s", k), func(p *shares.Plan) { dayPlan(p, leaf, k) }))
				leaf++
			}
			top.Children = append(top.Children, middle)
		}
		site.shares = append(site.shares, top)
	}
	for i := range 200 {
		site.queues = append(site.queues, dayQueue(i))
	}
	return site
}

// dayPlan is the plan of a share of the day.
func dayPlan(p *shares.Plan, leaf, k int) {
	p.Weight = float64(1 + k)
	five := 15.0
	switch leaf % 13 {
	case 1:
		p.Max = shares.Of(12_000)
	case 3:
		p.Within = shares.FairUser
	case 5:
		p.Aging = &shares.Aging{Per: shares.Duration(100 * time.Millisecond), Points: 1}
	case 7:
		p.HalfLife = shares.Duration(2 * time.Hour)
	case 9:
		p.Windows = []shares.Window{{When: "Mon-Fri 09:00-12:00 UTC", Weight: &five}}
	case 11:
		p.Min = shares.Of(4_000)
	case 12:
		p.Weight = 0
	}
}

func dayQueue(i int) shares.Queue {
	q := slots(fmt.Sprintf("q%03d", i), 8)
	q.Labels = map[string]string{"os": fmt.Sprint("el", 8+i%2)}
	q.MemoryMB = []int64{4000, 8000, 16000, 0}[i%4]
	q.CorePowerMilli = []int64{1000, 1200, 800}[i%3]
	q.Cores = []int{8, 8, 4}[i%3]
	if i%5 == 4 {
		q.Pool = "hpc"
	}
	if i%10 == 7 {
		q.Prefer = "wide"
	}
	if i%15 == 6 {
		q.AllowShares = []string{"a1", "a2"}
	}
	if i%25 == 3 {
		q.Locations = []string{"disk"}
	}
	return q
}

// newPilot is one of a node, of a single core, or one that is choosy.
func (d *day100) newPilot(i int) *playPilot {
	p := &playPilot{req: PullRequest{Queue: fmt.Sprintf("q%03d", i%200), Pilot: fmt.Sprint("pilot", i), Node: fmt.Sprint("n", i), Slot: job.Slot{Cores: 4, MemoryMB: 16000}}, free: 4}
	switch i % 10 {
	case 0, 1, 2:
		p.req.Slot, p.free = job.Slot{Cores: 8}, 8
	case 3, 4:
		p.req.Slot, p.free = job.Slot{Cores: 1, MemoryMB: 4000}, 1
	case 5:
		p.req.Only.Labels = []string{"managed"}
	case 6:
		p.req.Slot.Labels = map[string]string{"os": "el8"}
	}
	return p
}

// work gives a share a task.
func (d *day100) work(leaf, n int) {
	i := len(d.tasks)
	b := batch{share: d.leaves[leaf], n: n, user: fmt.Sprint("user", d.rnd.IntN(4)), priority: d.rnd.IntN(3) * d.rnd.IntN(4)}
	b.cores = []int{1, 1, 1, 4, 1, 8, 2}[d.rnd.IntN(7)]
	b.need.MemoryMB = []int64{2000, 2000, 6000, 14000}[d.rnd.IntN(4)]
	b.need.Label = []string{"managed", "user"}[d.rnd.IntN(2)]
	switch d.rnd.IntN(6) {
	case 0:
		b.need.Queues = []string{"os=el8"}
	case 1:
		b.need.Queues = []string{"os=el9"}
	case 2:
		b.need.Labels = map[string]string{"os": "el8"}
	}
	if i%9 == 0 {
		b.need.Locations, b.need.Locality = []string{"disk"}, job.LocalityPreferred
	}
	d.enqueue(b)
	d.tasks = append(d.tasks, d.fixture.tasks)
}

// step is five minutes of the day.
func (d *day100) step(n int) {
	d.pass(5 * time.Minute)
	now := d.clock.now()
	for _, l := range d.end(math.MaxInt, 1, func(l heldLease) bool { return !l.due.After(now) }) {
		l.pilot.free += l.Cores
	}
	if d.rnd.IntN(2) == 0 {
		for range d.rnd.IntN(8) {
			d.work(d.rnd.IntN(len(d.leaves)), 20+d.rnd.IntN(100))
		}
	}
	task := d.tasks[d.rnd.IntN(len(d.tasks))]
	switch n % 24 {
	case 1:
		d.kill(task, 1000)
	case 5:
		d.prefer(task, d.rnd.IntN(8))
	case 9:
		d.walk(task, HoldTasks, 1000)
		d.walk(task, ReleaseTasks, 1000)
	case 13:
		d.move(task, d.leaves[d.rnd.IntN(len(d.leaves))], n%48 == 13)
	case 17:
		d.change(func(v *shares.Version) {
			replan(v, d.leaves[d.rnd.IntN(len(d.leaves))], func(p *shares.Plan) { p.Weight *= 4 })
			replan(v, fmt.Sprint("a", d.rnd.IntN(4)), func(p *shares.Plan) { p.Weight = float64(1 + d.rnd.IntN(5)) })
			v.Queues[d.rnd.IntN(len(v.Queues))].State = []shares.QueueState{shares.Drain, shares.Offline, shares.Test, shares.Online}[d.rnd.IntN(4)]
		})
	case 21:
		d.target(d.d, d.leaves[d.rnd.IntN(len(d.leaves))], TargetSlots{Queue: fmt.Sprintf("q%03d", d.rnd.IntN(200)), Slots: 4, Floor: n%48 == 21})
		d.told()
	}
	d.pulls()
}

// pulls has all pilots ask that have cores free, a few at a time as they would come.
func (d *day100) pulls() {
	asking := slices.DeleteFunc(slices.Clone(d.pilots), func(p *playPilot) bool {
		p.rest--
		return p.free == 0 || p.rest >= 0
	})
	d.rnd.Shuffle(len(asking), func(i, j int) { asking[i], asking[j] = asking[j], asking[i] })
	for some := range slices.Chunk(asking, 12) {
		var all sync.WaitGroup
		got := make([][]Lease, len(some))
		for i, p := range some {
			req := p.req
			req.Slot.Cores, req.Max = p.free, []int{1, 1, 1, p.free}[d.rnd.IntN(4)]
			all.Go(func() {
				reply, err := d.d.Pull(context.Background(), req)
				if err != nil && !errors.Is(err, ErrNoJobs) && !errors.Is(err, ErrQueueClosed) {
					d.t.Error(err)
				}
				got[i] = reply.Leases
			})
		}
		all.Wait()
		for i, p := range some {
			if p.rest = 0; len(got[i]) == 0 {
				p.rest = 4 + d.rnd.IntN(4)
			}
			for _, l := range got[i] {
				p.free -= l.Cores
				d.held = append(d.held, heldLease{l, p, d.clock.now().Add(time.Duration(d.rnd.ExpFloat64() * float64(40*time.Minute)))})
			}
		}
	}
}
