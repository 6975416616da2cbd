package sim

import (
	"time"

	"github.com/divvyhq/divvy/shares"
)

// promise is that the job in turn, which does not fit, will start at a certain moment: ends come when they are
// expected, and whoever overtakes does not delay it. It has left its line, and stays the head of its leaf.
type promise struct {
	job   Job
	at    time.Duration
	spare shares.Units // what will be free at that moment beside the job
}

// promise goes through the ends to come until the job fits. All that end at that moment count.
func (r *run) promise(j Job) *promise {
	free, at := r.Free(), r.now
	var seen []end
	for len(r.ends.items) > 0 && (free < j.Units || r.ends.first().at == at) {
		e := r.ends.pop()
		seen = append(seen, e)
		free, at = free+e.job.Units, e.at
	}
	for _, e := range seen {
		r.ends.push(e)
	}
	return &promise{job: j, at: at, spare: free - j.Units}
}

// keep starts the promised job if it fits by now; kept says that it did, or that the turn is open again. Otherwise
// others start, by the rule, that do not delay it: they end before its moment, or fit beside it then.
func (r *run) keep() (kept bool, err error) {
	p := r.promised
	if p.job.Units <= r.Free() {
		r.promised = nil
		if _, ok := r.pool.Admits(p.job.Leaf, p.job.Units); !ok { // another share is below the same max by now
			r.lines[p.job.Leaf].push(p.job)
			r.showHead(p.job.Leaf)
			return true, nil
		}
		return true, r.start(p.job)
	}
	may := func(j Job) bool {
		return j.Leaf != p.job.Leaf && j.Units <= r.Free() && (j.Runtime <= p.at-r.now || j.Units <= p.spare)
	}
	for r.anyHead(may) {
		j, ok := r.ChooseAmong(may)
		if !ok {
			return false, nil
		}
		if j.Runtime > p.at-r.now {
			p.spare -= j.Units
		}
		r.overtook++
		r.lines[j.Leaf].pop()
		if err := r.start(j); err != nil {
			return false, err
		}
	}
	return false, nil
}

// anyHead spares the rule the question if no job could start.
func (r *run) anyHead(may func(Job) bool) bool {
	if r.Free() == 0 {
		return false
	}
	for _, leaf := range r.leaves {
		if r.heads[leaf].Units > 0 && may(r.heads[leaf]) {
			return true
		}
	}
	return false
}
