package generator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/dispatchertest"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
)

// nodePilot runs jobs of a node in no time, some of which fail.
func nodePilot(ctx context.Context, t *testing.T, d *dispatchertest.Dispatcher, node string, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	var held []dispatcher.Lease
	for ctx.Err() == nil {
		reply, err := d.Pull(ctx, dispatcher.PullRequest{Queue: "CERN", Pilot: fmt.Sprint(node, seed), Node: node, Devices: gpus(8), Slot: job.Slot{Cores: 2}, Max: 2, WaitS: 0.05})
		if err != nil && !errors.Is(err, dispatcher.ErrNoJobs) && ctx.Err() == nil {
			t.Errorf("pull: %v", err)
			return
		}
		held = append(held, reply.Leases...)
		for len(held) > 3 || len(held) > 0 && err != nil {
			outcome := []dispatcher.Outcome{dispatcher.Finished, dispatcher.Finished, dispatcher.Failed}[r.IntN(3)]
			_, endErr := d.Finish(ctx, dispatcher.FinishRequest{Pilot: node, Results: []dispatcher.Result{{Lease: held[0].Lease, Outcome: outcome}}})
			if endErr != nil && ctx.Err() == nil {
				t.Errorf("finish: %v", endErr)
				return
			}
			held = held[1:]
		}
	}
}

// Tasks are scaled up and down while two generators make their jobs and pilots of two nodes run them and fail: all of them
// end, counts equal a recount, and no claim and no device is left.
func TestScaleWhileItRuns(t *testing.T) {
	w := newWorld(t)
	d := w.dispatch(t)
	cfg := w.config()
	cfg.Stock = d.Stock
	cfg.Mark = broker.Mark{Floor: 20, Batch: 15}
	w.use(New(cfg))
	ctx, stop := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	for _, step := range []func(context.Context) (int, error){w.Generate, New(cfg).Generate, w.Generator.Settle, w.Sweep} {
		loops.Go(func() { tick(ctx, t, step) })
	}
	var ids []int64
	for range 3 {
		ids = append(ids, w.submit(t, managed(func(s *spec.Spec) {
			training(s)
			s.Replicas, s.MaxAttempts, s.ClaimTemplates[0].Devices["gpu"] = 2, 2, 2
		})).ID)
	}
	for i := range 4 {
		loops.Go(func() { nodePilot(ctx, t, d, []string{"n1", "n2"}[i%2], uint64(i)) })
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		s := []spec.Scaling{{}, {Group: "g"}, {Group: "g", Role: "train"}, {Group: "g", Role: "coord"}}[r.IntN(4)]
		s.Replicas = 1 + r.IntN(4)
		if _, err := w.Scale(ctx, ids[r.IntN(len(ids))], s); err != nil && !errors.Is(err, judge.ErrState) {
			t.Error(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	defer loops.Wait()
	defer stop()
	deadline := time.Now().Add(2 * time.Minute)
	for _, id := range ids {
		for !judge.Final(w.task(t, id).State) {
			if time.Now().After(deadline) {
				t.Fatalf("not over: %+v, claims %s", w.task(t, id), w.claimStates(t))
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	w.awaitClaims(t, d, "")
	stop()
	loops.Wait()
	steps(t, w.Settle)
	w.recount(t)
	if n := jobs[int](t, w, "SELECT (SELECT coalesce(sum(cardinality(devices)), 0) FROM claims WHERE state IN ('bound', 'draining')) + (SELECT count(*) FROM live_jobs)"); n != 0 {
		t.Errorf("%d devices and jobs are left", n)
	}
	for _, id := range ids {
		task := w.task(t, id)
		t.Logf("task %d: %s, %d pieces, %+v", id, task.State, task.Pieces, task.Jobs)
	}
}
