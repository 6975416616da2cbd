package generator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/dispatchertest"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
)

// busySite is a daemon's steps and pilots that claim one job after the other, on a durable server.
type busySite struct {
	*world
	d      *dispatchertest.Dispatcher
	claims atomic.Int64
	stop   context.CancelFunc
	all    sync.WaitGroup
}

// BenchmarkVerbsOnAMillion says how many jobs a second go out while a task of a million ready jobs is generated, paused, resumed
// and killed, beside how many before and after that, and how long that takes. Pilots claim jobs of its share and of another one,
// one at a time, and finish them.
//
//	go test ./generator -run '^$' -bench VerbsOnAMillion -benchtime 1x -timeout 30m
//
// DIVVY_BENCH_JOBS is the number of jobs, 1,000,000 if it is not there.
func BenchmarkVerbsOnAMillion(b *testing.B) {
	jobs := int64(1_000_000)
	if n, err := strconv.ParseInt(os.Getenv("DIVVY_BENCH_JOBS"), 10, 64); err == nil {
		jobs = n
	}
	s := newBusySite(b)
	defer s.close(b)
	s.submit(b, managed(func(t *spec.Spec) { t.Share, t.Count = "s1", 5_000_000 }))
	for s.claims.Load() < 10_000 { // windows fill
		time.Sleep(100 * time.Millisecond)
	}
	alone := func() float64 { return s.rate(func() { time.Sleep(5 * time.Second) }) }
	rest := func() { // what filling tables costs later is not a verb's
		s.exec(b, "VACUUM ANALYZE")
		s.exec(b, "CHECKPOINT")
	}
	rest()
	base := alone()
	b.ReportMetric(base, "alone-claims/s")
	task := s.submit(b, managed(func(t *spec.Spec) { t.Share, t.Count = "s2", jobs })).ID
	ctx := context.Background()
	phase := func(name string, do func() error, over func(view.Task) bool) {
		began := time.Now()
		var worst time.Duration
		rate := s.rate(func() {
			if do != nil {
				if err := do(); err != nil {
					b.Fatal(err)
				}
				worst = time.Since(began)
			}
			for !over(s.task(b, task)) {
				time.Sleep(50 * time.Millisecond)
			}
		})
		took := time.Since(began)
		before := base
		base = alone()
		ratio := rate / ((before + base) / 2)
		b.ReportMetric(ratio, name+"-of-alone")
		b.ReportMetric(float64(jobs)/took.Seconds(), name+"-jobs/s")
		b.Logf("%s: %.0f claims/s beside it (%.2f of %.0f before and %.0f after), %.1f s, the call itself %s", name, rate, ratio, before, base, took.Seconds(), worst)
	}
	phase("generate", nil, func(t view.Task) bool { return t.Jobs.Ready+t.Jobs.Leased+t.Jobs.Finished == jobs })
	rest()
	base = alone()
	phase("pause", func() error { _, err := s.Say(ctx, VerbPause, task, nil); return err }, func(t view.Task) bool { return t.Jobs.Ready+t.Jobs.Leased == 0 })
	phase("resume", func() error { _, err := s.Say(ctx, VerbResume, task, nil); return err }, func(t view.Task) bool { return t.Jobs.Waiting == 0 })
	phase("kill", func() error { _, err := s.Say(ctx, VerbKill, task, nil); return err }, func(t view.Task) bool { return t.State == "aborted" })
	b.ReportMetric(0, "ns/op")
}

// rate is claims a second while do runs.
func (s *busySite) rate(do func()) float64 {
	before, began := s.claims.Load(), time.Now()
	do()
	return float64(s.claims.Load()-before) / time.Since(began).Seconds()
}

func newBusySite(b *testing.B) *busySite {
	s := &busySite{world: durableWorld(b)}
	d := s.dispatch(b)
	cfg := s.config()
	cfg.Stock = d.Stock
	cfg.Mark = broker.Mark{Floor: 2_000_000, Cap: 2_000_000}
	s.d = d
	s.use(New(cfg))
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	for _, l := range []struct {
		step  func(context.Context) (int, error)
		every time.Duration
		drain bool
		sigh  int // as in cmd/divvy/serve/ticks.go
	}{
		{s.Generate, 200 * time.Millisecond, true, 0}, {s.Generator.Settle, 600 * time.Millisecond, false, 0}, {s.Sweep, 500 * time.Millisecond, true, 3},
	} {
		s.all.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				n, err := l.step(ctx)
				if err != nil && ctx.Err() == nil {
					b.Error(err)
					return
				}
				rest := l.every
				if l.drain && n > 0 {
					rest = time.Duration(l.sigh) * time.Since(began)
				}
				select {
				case <-ctx.Done():
				case <-time.After(rest):
				}
			}
		})
	}
	for i := range 64 {
		s.all.Go(func() { s.claim(ctx, b, fmt.Sprint("p", i)) })
	}
	return s
}

// claim pulls jobs and finishes them, one at a time.
func (s *busySite) claim(ctx context.Context, b *testing.B, pilot string) {
	for ctx.Err() == nil {
		reply, err := s.d.Pull(ctx, dispatcher.PullRequest{Queue: "CERN", Pilot: pilot, Slot: job.Slot{Cores: 1}, WaitS: 1})
		if errors.Is(err, dispatcher.ErrNoJobs) || ctx.Err() != nil {
			continue
		}
		if err != nil {
			b.Error(err)
			return
		}
		s.claims.Add(int64(len(reply.Leases)))
		finish := dispatcher.FinishRequest{Pilot: pilot}
		for _, l := range reply.Leases {
			finish.Results = append(finish.Results, dispatcher.Result{Lease: l.Lease, Outcome: dispatcher.Finished})
		}
		if _, err := s.d.Finish(ctx, finish); err != nil && ctx.Err() == nil {
			b.Error(err)
			return
		}
	}
}

func (s *busySite) close(b *testing.B) {
	s.stop()
	s.all.Wait()
	s.d.Stop()
}
