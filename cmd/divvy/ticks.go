package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/divvyhq/divvy/internal/access"
)

// Rests of the steps whose cost grows with what there is. What other daemons tell of is to be known at once, but ten of
// them would send hints all the time: a refresh a moment is enough. A fold adds as many rows to the checkpoint,
// however much it folds; reports, and a daemon that starts, read what it has not folded yet, a second of work for ten of
// ours. Counts of tasks may be two seconds behind, as report.tasks says. A task that follows one of a million jobs looks at
// all that have ended behind the first that has not. A verb on a task with a million jobs takes a quarter of one backend:
// grants go on at nine tenths of their rate beside it, and at three quarters where it takes half. A generator rests for four
// tenths of the time it works, and keeps to its pace besides. What ends cost is added up with a tenth of a backend at the
// most; the usage views read what is not added up yet.
func (d *daemon) eases() (refresh, fold, settle, chain, sweep, generate, account *ease) {
	of := func(times float64, most, mostAll time.Duration) *ease {
		return &ease{times: times, most: most, mostAll: mostAll, daemons: d.dispatcher.Daemons}
	}
	return of(2, 10*time.Millisecond, 50*time.Millisecond), of(20, 10*time.Second, time.Minute), of(20, 2*time.Second, 5*time.Second),
		of(3, 10*time.Second, time.Minute), of(3, time.Second, time.Second),
		of(0.4, 200*time.Millisecond, time.Second), of(10, 10*time.Second, 30*time.Second)
}

// pageEase keeps open pages from taking more than a twentieth of a core of what serves pilots: where building what they
// show takes long, they are told less often.
func (d *daemon) pageEase() *ease {
	return &ease{times: 20, most: 10 * time.Second, mostAll: 10 * time.Second, daemons: func() int { return 1 }}
}

// loops lists every ticker of the daemon.
func (d *daemon) loops() []loop {
	refresh, fold, settle, chain, sweep, generate, account := d.eases()
	generators := newPace(generate, d.dispatcher.Totals, d.dispatcher.Daemons)
	ls := []loop{
		{name: "refresh", every: 200 * time.Millisecond, wake: d.wakes.on("ledger", "site", "escrow"), ease: refresh, step: d.refresh},
		{name: "lead", every: 200 * time.Millisecond, bound: 5 * time.Second, wake: d.lead.broke, step: d.followLead},
		{name: "expire", every: 2 * time.Second, drain: true, step: d.dispatcher.Expire},
		{name: "judge", every: 500 * time.Millisecond, drain: true, step: d.dispatcher.Judge},
		{name: "queues", every: 5 * time.Second, step: d.dispatcher.WatchQueues},
		{name: "reclaim", every: time.Second, ease: fold, step: d.dispatcher.Reclaim},
		{name: "plans", every: time.Second, step: d.dispatcher.Switch},
		{name: "remember", every: time.Second, step: d.dispatcher.Remember},
		{name: "reorder", every: 5 * time.Second, drain: true, step: d.dispatcher.Reorder},
		{name: "claims", every: 200 * time.Millisecond, drain: true, wake: d.wakes.on("ledger"), ease: refresh, step: d.dispatcher.TendClaims},
		{name: "users", every: time.Second, drain: true, wake: d.wakes.on("site"), ease: refresh, step: d.dispatcher.TendUsers},
		{name: "fold", every: time.Second, ease: fold, step: d.dispatcher.Fold},
		{name: "heartbeat", every: 2 * time.Second, bound: 10 * time.Second, step: d.dispatcher.Heartbeat},
		{name: "account", every: 2 * time.Second, ease: account, step: d.dispatcher.Account},
		{name: "rate", every: time.Minute, step: d.dispatcher.Rate},
		{name: "purge", every: time.Minute, step: d.dispatcher.Purge},
		{name: "vacuum", every: 5 * time.Second, step: d.dispatcher.SpareVacuum},
		{name: "record", every: time.Second, step: d.dispatcher.Record},
		{name: "checkpoint", every: 20 * time.Second, step: d.dispatcher.Checkpoint},
		{name: "partition", every: 30 * time.Second, step: d.dispatcher.Partition},
		{name: "sample", every: d.cfg.Sample, step: d.dispatcher.Sample},
		{name: "survey", every: 5 * time.Second, step: d.dispatcher.Survey},
		{name: "tokens", every: access.RefreshEvery, wake: d.wakes.on("tokens"), step: d.book.Refresh},
		{name: "token-use", every: time.Minute, step: d.book.MarkUsed},
		{name: "purge-audit", every: time.Minute, drain: true, step: d.purgeAudit},
		{name: "purge-sandboxes", every: time.Minute, drain: true, step: d.sandboxes.Purge},
		{name: "gc", every: time.Second, step: d.paceGC},
		{name: "later", every: time.Second, step: d.store.ApplyDue},
		{name: "settle", every: 300 * time.Millisecond, ease: settle, step: d.generator.Settle},
	}
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

// startLoops starts the tickers and the listener that wakes them. The partitions of today are there before the first
// grant, where that can be had at once: rows that come before them keep their day in the default partition.
func (d *daemon) startLoops(start context.Context) error {
	if _, err := d.dispatcher.Partition(start); err != nil {
		d.log.Warn("no partition for today yet; it is tried again", "error", err)
	}
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
