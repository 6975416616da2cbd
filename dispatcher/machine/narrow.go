package machine

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/shares"
)

// narrow is the ready jobs that a pull of one task or user takes: the first of each buffer, by leaf. Shares decide among these
// as among all.
type narrow struct {
	leaves map[int][]first
	set    shares.Contenders
}

// first is the first job of a buffer that a pull takes.
type first struct {
	buffer *buffer
	job    ready.Range
}

// narrowOf is what the pull takes alone; nil: anything, but for labels.
func (r *round) narrowOf(p *Pull) *narrow {
	var tasks []int64
	switch {
	case p.Only.Task != 0:
		user, ok := r.state.ready.User(p.Only.Task)
		if ok && (p.Only.User == "" || p.Only.User == user) {
			tasks = []int64{p.Only.Task}
		}
	case p.Only.User != "":
		tasks = r.state.ready.Tasks(p.Only.User)
	default:
		return nil
	}
	best := map[ready.Key]ready.Range{}
	for _, task := range tasks {
		for key, job := range r.state.ready.FirstOf(task) {
			if had, ok := best[key]; !ok || job.Stand().Before(had.Stand()) {
				best[key] = job
			}
		}
	}
	n := &narrow{leaves: map[int][]first{}}
	for key, job := range best {
		if b := r.buffers[key]; r.takes(b) {
			n.leaves[b.leaf] = append(n.leaves[b.leaf], first{b, job})
		}
	}
	for leaf, list := range n.leaves {
		slices.SortFunc(list, func(a, b first) int { return int(a.buffer.shape.id - b.buffer.shape.id) })
		r.queue.Home.Book.Contend(&n.set, leaf, true)
	}
	return n
}

// takes says whether the slot can run the jobs of a buffer, whatever its leaf.
func (r *round) takes(b *buffer) bool {
	if b.shape.guest {
		return !b.shape.Need.Claims.Starts() && b.shape.sort.Need.Place() == r.offer().Place && r.runs(b)
	}
	return b.leaf >= 0 && b.opened && r.kind.runs(b.shape.outline) && r.kind.policy.Admits(b.leaf)
}

// decideAmong is decide for a pull that takes the jobs of a task or user alone.
func (r *round) decideAmong() (choice, Verdict) {
	p := r.queue.Home
	offered := p.Round(r.left.Offered(r.queue.Queue, r.most))
	if verdict, decided := r.gather(&r.narrow.set, offered); decided {
		return choice{}, verdict
	}
	var passed []due
	for {
		d, ok := r.choose(offered, &r.narrow.set, passed)
		if !ok {
			return choice{}, None
		}
		found, in := r.bestAmong(d)
		if found.buffer != nil {
			r.note(d, offered, &r.narrow.set)
			return found, Given
		}
		if in.Stands() {
			r.decision.Lacked = in.Refusal(r.site.Version.Tree)
		}
		if d.class() != "" {
			passed = append(passed, d) // jobs of other classes may be there
			continue
		}
		p.Book.Contend(&r.narrow.set, d.leaf, false)
	}
}

// bestAmong is best of the few jobs of a narrow; all are of one user.
func (r *round) bestAmong(d due) (found choice, in obstacle) {
	by := r.leafOrder(d.leaf)
	for _, f := range r.narrow.leaves[d.leaf] {
		if o := f.buffer.shape.outline; !d.takes(o) || !r.admitted(d.leaf, o, &in) {
			continue
		}
		if no := r.short(f.buffer); no.Stands() {
			in.Keep(no.By.Why)
			continue
		}
		c := r.choice(f.buffer, f.job)
		c.turn = ready.Turn{}
		found.meet(c, by)
	}
	return found, in
}
