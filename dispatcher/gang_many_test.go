package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// Gangs by the hundred on nodes by the dozen, beside jobs without one: all run, each gang at one node and from one transaction;
// the pilots of a node ask one daemon.
func TestManyGangs(t *testing.T) {
	for _, daemons := range []int{1, 3} {
		t.Run(fmt.Sprint(daemons), func(t *testing.T) { manyGangs(t, daemons) })
	}
}

func manyGangs(t *testing.T, daemons int) {
	const nodes, size = 20, 4
	nGangs := pgtest.Draws(80)
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 1000))
	var ds []*Dispatcher
	for range daemons {
		ds = append(ds, f.daemon())
	}
	f.tending(ds...)
	f.enqueueLayout("A", gangOf(nGangs, size))
	f.enqueue(batch{share: "B", n: nGangs})
	var pilots sync.WaitGroup
	var mu sync.Mutex
	left, began := nGangs*(size+1), time.Now()
	for n := range nodes {
		for i := range size {
			pilots.Go(func() {
				req := slotAt("q", fmt.Sprint("n", n))
				req.Pilot, req.WaitS = fmt.Sprint("p", n, " ", i), 0.2
				d := ds[n%daemons]
				for {
					mu.Lock()
					over := left == 0 || time.Since(began) > patience
					mu.Unlock()
					reply, err := d.Pull(context.Background(), req)
					switch {
					case errors.Is(err, ErrNoJobs) && over:
						return
					case errors.Is(err, ErrNoJobs):
						continue
					case err != nil:
						t.Error(err)
						return
					}
					finish(t, d, Finished, reply.Leases[0])
					mu.Lock()
					left--
					mu.Unlock()
				}
			})
		}
	}
	pilots.Wait()
	t.Logf("%d jobs are left after %v", left, time.Since(began))
	var gangs, apart int
	f.scan(&gangs, "SELECT count(DISTINCT split_part(inputs[1], '/', 3))::int FROM ended_jobs WHERE inputs[1] LIKE '0/g/%' AND state = 'finished'")
	f.scan(&apart, `SELECT count(*)::int FROM (
		SELECT FROM attempts a JOIN ended_jobs e ON e.id = a.job_id WHERE e.inputs[1] LIKE '0/g/%'
		GROUP BY split_part(e.inputs[1], '/', 3) HAVING count(DISTINCT a.node) > 1 OR count(DISTINCT a.claimed_at) > 1) x`)
	if left > 0 || gangs != nGangs || apart > 0 {
		t.Errorf("%d jobs are left; %d gangs have run, %d of them in parts", left, gangs, apart)
	}
	f.recountClaims()
	f.recount()
}
