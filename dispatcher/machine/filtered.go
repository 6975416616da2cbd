package machine

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/shares"
)

// filtered holds the ready jobs for a pull of one task or user: the first job of each buffer, by leaf. Shares decide
// among these jobs as among all.
type filtered struct {
	leaves map[int][]choice
	set    shares.Contenders
}

// filteredOf returns the ready jobs of the task or user that the pull names; nil: it names neither.
func (r *round) filteredOf(p *Pull) *filtered {
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
	n := &filtered{leaves: map[int][]choice{}}
	for key, job := range best {
		if b := r.buffers[key]; r.takes(b) {
			n.leaves[b.leaf] = append(n.leaves[b.leaf], choice{b, job, ready.Turn{Stand: job.Stand()}, r.remote(b, job, r.queue)})
		}
	}
	for leaf, list := range n.leaves {
		slices.SortFunc(list, func(a, b choice) int { return int(a.buffer.shape.id - b.buffer.shape.id) })
		n.set.Set(r.queue.Home.Book, leaf, true)
	}
	return n
}

// takes reports whether the slot can run the jobs of a buffer, whatever its leaf.
func (r *round) takes(b *buffer) bool {
	if b.shape.guest {
		return !b.shape.Need.Claims.Starts() && b.shape.sort.Need.Place() == r.offer().Place && r.runs(b)
	}
	return b.leaf >= 0 && b.opened && r.kind.runs(b.shape.outline) && r.kind.policy.Admits(b.leaf)
}

// bestAmong is best among the few filtered jobs, which all belong to one user.
func (r *round) bestAmong(d due) (found choice, in obstacle) {
	by := r.leafOrder(d.leaf)
	for _, c := range r.filtered.leaves[d.leaf] {
		if o := c.buffer.shape.outline; !d.takes(o) || !r.admitted(d.leaf, o, &in) {
			continue
		}
		if no := r.short(c.buffer); no.Stands() {
			in.Keep(no.By.Why)
			continue
		}
		found.meet(c, by)
	}
	return found, in
}
