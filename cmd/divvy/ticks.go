package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/divvyhq/divvy/dispatcher/link"
	"github.com/divvyhq/divvy/internal/access"
)

// Rests of the steps whose cost grows with what there is. Counts of tasks may be two seconds behind, as report.tasks says. A task that follows
// one of a million jobs looks at all that have ended behind the first that has not. A verb on a task with a million jobs takes a quarter of one
// backend: grants go on at nine tenths of their rate beside it, and at three quarters where it takes half. A generator rests for four tenths of
// the time it works, and keeps to its pace besides.
func (d *daemon) eases() (settle, chain, sweep, generate *ease) {
	of := func(times float64, most, mostAll time.Duration) *ease {
		return &ease{times: times, most: most, mostAll: mostAll, daemons: d.company.member.Daemons}
	}
	return of(20, 2*time.Second, 5*time.Second), of(3, 10*time.Second, time.Minute), of(3, time.Second, time.Second),
		of(0.4, 200*time.Millisecond, time.Second)
}

// stepEases are those of the dispatcher's steps, by name: the more daemons, the rarer each of them looks.
func (d *daemon) stepEases() map[string]*ease {
	of := func(times float64, most, mostAll time.Duration) *ease {
		return &ease{times: times, most: most, mostAll: mostAll, daemons: d.company.member.Daemons}
	}
	return map[string]*ease{
		"learn": of(2, 10*time.Millisecond, 50*time.Millisecond), "lag": of(20, time.Second, 10*time.Second), "reclaim": of(20, 10*time.Second, time.Minute),
		"rate": of(10, 10*time.Second, 30*time.Second), "nodes": of(10, 10*time.Second, 30*time.Second),
	}
}

// drained are the steps of the dispatcher that are repeated at once while they find something.
var drained = []string{"judge", "reorder", "old-rows", "old-jobs", "old-history", "old-notes"}

// pageEase keeps open pages from taking more than a twentieth of a core of what serves pilots: where building what they
// show takes long, they are told less often.
func (d *daemon) pageEase() *ease {
	return &ease{times: 20, most: 10 * time.Second, mostAll: 10 * time.Second, daemons: func() int { return 1 }}
}

// loops lists every ticker of the daemon.
func (d *daemon) loops() []loop {
	settle, chain, sweep, generate := d.eases()
	generators := newPace(generate, d.dispatcher.Totals, d.company.member.Daemons)
	ls := d.dispatcherLoops()
	ls = append(ls, []loop{
		{name: "heartbeat", every: link.BeatEvery, bound: 10 * time.Second, step: d.company.member.Heartbeat},
		{name: "tokens", every: access.RefreshEvery, wake: d.wakes.on("tokens"), step: d.book.Refresh},
		{name: "token-use", every: time.Minute, step: d.book.MarkUsed},
		{name: "purge-audit", every: time.Minute, drain: true, step: d.purgeAudit},
		{name: "purge-sandboxes", every: time.Minute, drain: true, step: d.sandboxes.Purge},
		{name: "gc", every: time.Second, step: d.paceGC},
		{name: "later", every: time.Second, step: d.store.ApplyDue},
		{name: "settle", every: 300 * time.Millisecond, ease: settle, step: d.generator.Settle},
	}...)
	for i := range d.cfg.Generators {
		ls = append(ls, loop{name: fmt.Sprintf("generate-%d", i+1), every: 200 * time.Millisecond, drain: true, sigh: generators.rest,
			wake: d.wakes.on("tasks", "site"), step: d.generator.Generate})
	}
	ls = append(ls, loop{name: "throttle", every: time.Second, drain: true, wake: d.wakes.on("tasks", "site"), ease: settle, step: d.generator.Throttle})
	ls = append(ls, loop{name: "sweep", every: 500 * time.Millisecond, bound: time.Minute, drain: true, sigh: sweep.sigh, step: d.generator.Sweep})
	ls = append(ls, loop{name: "chain", every: 500 * time.Millisecond, ease: chain, step: d.generator.Chain})
	if d.lines != nil {
		ls = append(ls, loop{name: "log", every: time.Second, step: d.lines.Flush})
	}
	ls = append(ls, loop{name: "pages", every: time.Second, ease: d.pageEase(), step: d.pages.Publish})
	ls = append(ls, loop{name: "forecast", every: 5 * time.Second, step: d.generator.Forecast})
	return ls
}

// dispatcherLoops are the tickers of the dispatcher's steps.
func (d *daemon) dispatcherLoops() (ls []loop) {
	eases := d.stepEases()
	for _, s := range d.dispatcher.Steps() {
		name := strings.ReplaceAll(s.Name, " ", "-")
		ls = append(ls, loop{name: name, every: s.Every, ease: eases[name], drain: slices.Contains(drained, name), step: s.Run})
	}
	return ls
}

// startLoops starts the tickers and the listener that wakes them.
func (d *daemon) startLoops(context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	group, ctx := errgroup.WithContext(ctx)
	metrics := newLoopMetrics(d.registry)
	for _, l := range d.loops() {
		group.Go(func() error { l.run(ctx, metrics, d.part("steps")); return nil })
	}
	group.Go(func() error { d.hear(ctx); return nil })
	group.Go(func() error { d.hearGenerator(ctx); return nil })
	d.onStop("background steps", 10*time.Second, func(stop context.Context) error {
		cancel()
		return wait(stop, "a background step does not end", func() { _ = group.Wait() })
	})
	return nil
}
