package run

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
)

// mostFollowed bounds the jobs whose output is followed at once: each waits with a request of its own. Those beyond are shown
// when one of these has ended.
const mostFollowed = 32

// outputs shows what jobs of a task write, as they write it.
type outputs struct {
	cl     *client.Client
	out    *printer
	many   bool
	number func(index int64) string // of a job, for people

	seen   map[int64]bool // jobs that are followed, or were
	over   int64          // jobs that were over at the last listing
	leased int64
	next   time.Time // not before it jobs are listed again
	slots  chan struct{}
	all    sync.WaitGroup
}

// name is a job for people.
func (o *outputs) name(j wire.JobRow) string {
	if o.many {
		return fmt.Sprintf("job %d [%s]", j.ID, o.number(j.Index))
	}
	return fmt.Sprintf("job %d", j.ID)
}

// see looks for jobs that run, or have ended, since the last look, where the counts say that there are.
func (o *outputs) see(ctx context.Context, t wire.Task) {
	over := t.Jobs.Finished + t.Jobs.Failed + t.Jobs.Cancelled
	if over == o.over && t.Jobs.Leased == o.leased || time.Now().Before(o.next) {
		return
	}
	began := time.Now()
	if o.list(ctx, t.ID) {
		o.over, o.leased = over, t.Jobs.Leased
	}
	o.next = time.Now().Add(listEase * time.Since(began))
}

// wait shows what is left of a task that is over, and waits for the end of all output.
func (o *outputs) wait(ctx context.Context, t wire.Task) {
	for try := 0; !o.list(ctx, t.ID) && try < 10 && ctx.Err() == nil; try++ {
		<-time.After(lookMost)
	}
	o.all.Wait()
}

// list follows the jobs that are new among those that run or have ended; false: no daemon answered.
func (o *outputs) list(ctx context.Context, task int64) bool {
	for j, err := range o.cl.Jobs().All(ctx, client.JobFilter{Task: task}) {
		if err != nil {
			return false
		}
		if o.seen[j.ID] || j.State != "leased" && j.EndedAt == nil {
			continue
		}
		o.seen[j.ID] = true
		o.all.Go(func() {
			o.slots <- struct{}{}
			defer func() { <-o.slots }()
			o.follow(ctx, j)
		})
	}
	return true
}
