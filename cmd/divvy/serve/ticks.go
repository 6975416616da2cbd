package serve

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/divvyhq/divvy/dispatcher/link"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/loops"
)

// Rests of the steps whose cost grows with what there is. Counts of tasks may be two seconds behind, as report.tasks says. A task that follows
// one of a million jobs looks at all that have ended behind the first that has not. A verb on a task with a million jobs takes a quarter of one
// backend: grants go on at nine tenths of their rate beside it, and at three quarters where it takes half. A generator rests for four tenths of
// the time it works, and keeps to its pace besides.
func eases(daemons func() int) (settle, chain, sweep, generate *loops.Ease) {
	of := func(times float64, most, mostAll time.Duration) *loops.Ease {
		return &loops.Ease{Times: times, Most: most, MostAll: mostAll, Daemons: daemons}
	}
	return of(20, 2*time.Second, 5*time.Second), of(3, 10*time.Second, time.Minute), of(3, time.Second, time.Second),
		of(0.4, 200*time.Millisecond, time.Second)
}

// stepEases are those of the dispatcher's steps, by name: the more daemons, the rarer each of them looks.
func stepEases(daemons func() int) map[string]*loops.Ease {
	of := func(times float64, most, mostAll time.Duration) *loops.Ease {
		return &loops.Ease{Times: times, Most: most, MostAll: mostAll, Daemons: daemons}
	}
	return map[string]*loops.Ease{
		"learn": of(2, 10*time.Millisecond, 50*time.Millisecond), "lag": of(20, time.Second, 10*time.Second), "reclaim": of(20, 10*time.Second, time.Minute),
		"rate": of(10, 10*time.Second, 30*time.Second), "nodes": of(10, 10*time.Second, 30*time.Second),
	}
}

// drained are the steps of the dispatcher that are repeated at once while they find something.
var drained = []string{"judge", "reorder", "old-rows", "old-jobs", "old-history", "old-notes"}

// told are the steps of the dispatcher that find something soon after news only, or show what hardly changes without.
var told = []string{"learn", "fold", "lag", "count", "reorder"}

// pageEase keeps open pages from taking more than a twentieth of a core of what serves pilots: where building what they
// show takes long, they are told less often.
func pageEase() *loops.Ease {
	return &loops.Ease{Times: 20, Most: 10 * time.Second, MostAll: 10 * time.Second, Daemons: func() int { return 1 }}
}

// loops lists every ticker of the daemon.
func (d *Daemon) loops() []loops.Loop {
	settle, chain, sweep, generate := eases(d.company.member.Daemons)
	generators := newPace(generate, d.dispatcher.Totals, d.company.member.Daemons)
	ls := d.dispatcherLoops()
	ls = append(ls, []loops.Loop{
		{Name: "heartbeat", Every: link.BeatEvery, Bound: 10 * time.Second, Step: d.company.member.Heartbeat},
		{Name: "tokens", Every: access.RefreshEvery, Wake: d.news.On("tokens"), Step: d.callers.refresh},
		{Name: "token-use", Every: time.Minute, Step: d.callers.book.MarkUsed},
		{Name: "purge-audit", Every: time.Minute, Drain: true, Step: func(ctx context.Context) (int, error) { return d.callers.tokens.PurgeAudit(ctx, d.cfg.Keep.Audit) }},
		{Name: "purge-sandboxes", Every: time.Minute, Drain: true, Step: d.sandboxes.Purge},
		{Name: "webhooks", Every: time.Second, Step: d.hooks.Step},
		{Name: "later", Every: time.Second, Step: d.store.ApplyDue},
		{Name: "settle", Every: 300 * time.Millisecond, Ease: settle, News: d.news, Step: d.generator.Settle},
	}...)
	for i := range d.cfg.Generators {
		ls = append(ls, loops.Loop{Name: fmt.Sprintf("generate-%d", i+1), Every: 200 * time.Millisecond, Drain: true, Sigh: generators.rest,
			Wake: d.news.On("tasks", "site"), News: d.news, Step: d.generator.Generate})
	}
	ls = append(ls, loops.Loop{Name: "throttle", Every: time.Second, Drain: true, Wake: d.news.On("tasks", "site"), Ease: settle, News: d.news, Step: d.generator.Throttle})
	ls = append(ls, loops.Loop{Name: "sweep", Every: 500 * time.Millisecond, Bound: time.Minute, Drain: true, Sigh: sweep.Sigh, News: d.news, Step: d.generator.Sweep})
	ls = append(ls, loops.Loop{Name: "chain", Every: 500 * time.Millisecond, Ease: chain, News: d.news, Step: d.generator.Chain})
	if d.watch.lines != nil {
		ls = append(ls, loops.Loop{Name: "log", Every: time.Second, Step: d.watch.lines.Flush})
	}
	ls = append(ls, loops.Loop{Name: "pages", Every: time.Second, Ease: pageEase(), Step: d.pages.Publish})
	ls = append(ls, loops.Loop{Name: "outputs", Every: time.Second, Step: func(context.Context) (int, error) { d.outputs.Tend(d.dispatcher.Leads()); return 0, nil }})
	ls = append(ls, loops.Loop{Name: "forecast", Every: 5 * time.Second, Step: d.generator.Forecast})
	return loops.Apart(ls)
}

func (d *Daemon) dispatcherLoops() (ls []loops.Loop) {
	eases := stepEases(d.company.member.Daemons)
	for _, s := range d.dispatcher.Steps() {
		name := strings.ReplaceAll(s.Name, " ", "-")
		l := loops.Loop{Name: name, Every: s.Every, Ease: eases[name], Drain: slices.Contains(drained, name), Step: s.Run}
		if slices.Contains(told, name) {
			l.News = d.news
		}
		ls = append(ls, l)
	}
	return ls
}

// startLoops starts the tickers and the listener that wakes them.
func (d *Daemon) startLoops(context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	group, ctx := errgroup.WithContext(ctx)
	metrics := loops.NewMetrics(d.watch.registry)
	for _, l := range d.loops() {
		group.Go(func() error { l.Run(ctx, metrics, d.part("steps")); return nil })
	}
	hints := listener{news: d.news, dispatcher: d.dispatcher, generator: d.generator, direct: d.db.direct, log: d.log}
	group.Go(func() error { hints.hear(ctx); return nil })
	group.Go(func() error { hints.hearGenerator(ctx); return nil })
	group.Go(func() error { d.news.Spread(ctx, d.company.tell); return nil })
	d.life.onStop("background steps", 10*time.Second, func(stop context.Context) error {
		cancel()
		return wait(stop, "a background step does not end", func() { _ = group.Wait() })
	})
	return nil
}
