package generator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/dispatchertest"
	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
)

// The whole way with the real dispatcher: tasks in, jobs pulled and finished by pilots while generators, settling and
// verbs go on; in the end every piece is accounted for, and counts equal a recount.
func TestWithDispatcher(t *testing.T) {
	w := newWorld(t)
	d := w.dispatch(t)
	cfg := w.config()
	cfg.Stock, cfg.Order = d.Stock, d.Order
	cfg.Mark = broker.Mark{Floor: 50, Batch: 40}
	w.use(New(cfg))
	ctx, stop := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	for _, step := range []func(context.Context) (int, error){w.Generate, New(cfg).Generate, w.Generator.Settle, w.Sweep} {
		loops.Go(func() { tick(ctx, t, step) })
	}
	var ids []int64
	for i, share := range []string{"Prod/MC", "Prod/Rep", "Test"} {
		ids = append(ids, w.submit(t, managed(func(s *spec.Spec) { s.Share, s.Count, s.MaxAttempts = share, int64(200+i), 2 })).ID)
	}
	var pilots sync.WaitGroup
	for i := range 4 {
		pilots.Go(func() { pilot(ctx, t, d, fmt.Sprint("p", i)) })
	}
	killed := w.submit(t, managed(func(s *spec.Spec) { s.Count = 500 })).ID
	deadline := time.Now().Add(2 * time.Minute)
	until := func(id int64, holds func(view.Task) bool) {
		for !holds(w.task(t, id)) {
			if time.Now().After(deadline) {
				t.Fatalf("not over: %+v", w.task(t, id))
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	until(killed, func(task view.Task) bool { return task.Jobs.Finished > 0 })
	if _, err := w.Say(ctx, VerbKill, killed, nil); err != nil {
		t.Error(err)
	}
	for _, id := range append(ids, killed) {
		until(id, func(task view.Task) bool { return judge.Final(task.State) })
	}
	stop()
	pilots.Wait()
	loops.Wait()
	steps(t, w.Settle)
	w.recount(t)
	for i, id := range ids {
		if got := w.task(t, id); got.State != "finished" || got.Jobs.Finished+got.Jobs.Failed != int64(200+i) || got.Jobs.Failed == 0 {
			t.Errorf("%+v", got)
		}
	}
	if got := w.task(t, killed); got.State != "aborted" || got.Jobs.Ready+got.Jobs.Leased != 0 {
		t.Errorf("%+v", got)
	}
}

// A queue that runs no piece of a task which is cut into lots does not wait for them, though the task itself could run there.
func TestLotsThatRunElsewhere(t *testing.T) {
	w := newWorld(t)
	w.apply(t, `
shares: [{name: S, weight: 9}, {name: T}]
queues:
  - {name: small, slots: 100, walltime: 1h, disk_mb: 3000}
  - {name: large, slots: 100, walltime: 4h, disk_mb: 20000}
`)
	w.submit(t, splitting(func(s *spec.Spec) { s.Share, s.Count = "T", 5 }))
	steps(t, w.Generate)
	w.submit(t, splitting(func(s *spec.Spec) {
		s.Inputs, s.Split = []spec.Input{{Name: "a", Size: 4e9, Events: 20_000}}, &spec.Split{By: "events", Fit: true, CPUPerEvent: 1, Efficiency: 1, WorkMB: 500}
	}))
	d := w.dispatch(t, func(c *dispatcher.Config) { c.Timing.Making = time.Hour })
	steps(t, w.Settle)
	soon, enough := context.WithTimeout(t.Context(), 30*time.Second)
	defer enough()
	reply, err := d.Pull(soon, dispatcher.PullRequest{Queue: "small", Pilot: "p", WaitS: 60})
	if err != nil || len(reply.Leases) != 1 || reply.Leases[0].Share != "T" {
		t.Errorf("%+v, %v; want a job of T", reply.Leases, err)
	}
}

// tick calls a step until ctx ends.
func tick(ctx context.Context, t *testing.T, step func(context.Context) (int, error)) {
	for ctx.Err() == nil {
		if _, err := step(ctx); err != nil && ctx.Err() == nil {
			t.Error(err)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// pilot runs jobs in no time; every tenth piece fails whenever it is tried.
func pilot(ctx context.Context, t *testing.T, d *dispatchertest.Dispatcher, name string) {
	for ctx.Err() == nil {
		reply, err := d.Pull(ctx, dispatcher.PullRequest{Queue: "CERN", Pilot: name, Max: 5, WaitS: 1})
		if errors.Is(err, dispatcher.ErrNoJobs) || ctx.Err() != nil {
			continue
		}
		if err != nil {
			t.Error(err)
			return
		}
		finish := dispatcher.FinishRequest{Pilot: name}
		for _, l := range reply.Leases {
			r := dispatcher.Result{Lease: l.Lease, Outcome: dispatcher.Finished}
			if index := l.Command[1]; index[len(index)-1] == '7' {
				r.Outcome = dispatcher.Failed
			}
			finish.Results = append(finish.Results, r)
		}
		if _, err := d.Finish(ctx, finish); err != nil && ctx.Err() == nil {
			t.Error(err)
			return
		}
	}
}
