package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// loops lists every ticker of the daemon.
func (d *daemon) loops() []loop {
	ls := []loop{
		{name: "refresh", every: 200 * time.Millisecond, wake: d.wakes.on("ledger", "site", "escrow"), step: d.dispatcher.Refresh},
		{name: "expire", every: 2 * time.Second, drain: true, step: d.dispatcher.Expire},
		{name: "fold", every: 2 * time.Second, step: d.dispatcher.Fold},
		{name: "heartbeat", every: 2 * time.Second, bound: 10 * time.Second, step: d.dispatcher.Heartbeat},
		{name: "purge", every: time.Minute, drain: true, step: d.dispatcher.Purge},
		{name: "record", every: time.Second, step: d.dispatcher.Record},
		{name: "partition", every: 10 * time.Minute, step: d.dispatcher.Partition},
		{name: "sample", every: d.cfg.Sample, step: d.dispatcher.Sample},
		{name: "gc", every: time.Second, step: d.paceGC},
		{name: "settle", every: 300 * time.Millisecond, step: d.generator.Settle},
	}
	for i := range d.cfg.Generators {
		ls = append(ls, loop{name: fmt.Sprintf("generate-%d", i+1), every: 200 * time.Millisecond, drain: true,
			wake: d.wakes.on("tasks", "site"), step: d.generator.Generate})
	}
	ls = append(ls, loop{name: "sweep", every: 500 * time.Millisecond, bound: time.Minute, drain: true, step: d.generator.Sweep})
	return ls
}

// startLoops starts the tickers and the listener that wakes them. The partitions of today are there before the first
// claim, where that can be had at once: rows that come before them keep their day in the default partition.
func (d *daemon) startLoops(start context.Context) error {
	if _, err := d.dispatcher.Partition(start); err != nil {
		d.log.Warn("no partition for today yet; it is tried again", "error", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	group, ctx := errgroup.WithContext(ctx)
	metrics := newLoopMetrics(d.registry)
	for _, l := range d.loops() {
		group.Go(func() error { l.run(ctx, metrics, d.log); return nil })
	}
	group.Go(func() error { d.hear(ctx); return nil })
	group.Go(func() error { d.hearGenerator(ctx); return nil })
	d.onStop("background steps", 10*time.Second, func(stop context.Context) error {
		cancel()
		return wait(stop, "a background step does not end", func() { _ = group.Wait() })
	})
	return nil
}
