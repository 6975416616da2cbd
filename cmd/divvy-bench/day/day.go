package day

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
	"github.com/divvyhq/divvy/internal/pg"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Day says how large the site is and how its jobs are.
type Day struct {
	Slots   int           `json:"slots"`    // of one core each, all queues together
	Node    int           `json:"node"`     // slots of a node, which pulls and renews for all of them
	Queues  int           `json:"queues"`   // of the same size
	Tree    [3]int        `json:"tree"`     // shares on each level
	Speed   float64       `json:"speed"`    // seconds of the day in a second
	Length  time.Duration `json:"length"`   // of the day, at the site
	MeanJob time.Duration `json:"mean_job"` // at the site; the lengths are distributed exponentially
	Fail    float64       `json:"fail"`     // part of the attempts that fail
	Lose    float64       `json:"lose"`     // part of them that the pilot dies with
	Rests   int           `json:"rests"`    // times at which nothing moves and every share is looked at
	Lease   time.Duration `json:"lease"`    // until a lease expires without renewal
	Seed    uint64        `json:"seed"`
}

// Large is a day of PanDA's size: 600,000 slots, jobs of 20 hours, in a hundredth of the time.
func Large() Day {
	return Day{Slots: 600_000, Node: 64, Queues: 200, Tree: [3]int{4, 5, 5}, Speed: 100, Length: 24 * time.Hour, MeanJob: 20 * time.Hour,
		Fail: 0.05, Lose: 0.005, Rests: 4, Lease: 180 * time.Second, Seed: 1}
}

// Short is one for tests: the same in a small site, where the ends of a second are as large a part of the slots as
// they can be for a lease of three seconds to be renewed in time.
func Short() Day {
	return Day{Slots: 1000, Node: 10, Queues: 10, Tree: [3]int{2, 2, 5}, Speed: 8640, Length: 24 * time.Hour, MeanJob: 10 * time.Hour,
		Fail: 0.05, Lose: 0.02, Rests: 2, Lease: 3 * time.Second, Seed: 1}
}

func (d Day) check() error {
	if d.Slots < d.Queues || d.Queues < 2 || d.Node < 1 || d.Tree[0]*d.Tree[1]*d.Tree[2] < 2 || d.Speed <= 0 || d.Length <= 0 || d.MeanJob <= 0 ||
		d.Rests < 1 || d.Lease < 2*time.Second || d.Fail < 0 || d.Lose < 0 || d.Fail+d.Lose > 0.9 {
		return fmt.Errorf("this day makes no sense: at least a slot a queue, two queues and shares, a rest, leases of 2 s: %+v", d)
	}
	return nil
}

// fast is how long something of the day takes here.
func (d Day) fast(t time.Duration) time.Duration { return time.Duration(float64(t) / d.Speed) }

// rate is starts a second here while all slots are busy.
func (d Day) rate() float64 { return float64(d.Slots) / d.fast(d.MeanJob).Seconds() }

// plan is the site of the day: the tree and queues of the base data set, of other sizes.
func (d Day) plan() stage.Plan {
	return stage.Plan{Tree: d.Tree, Cycle: 5, Queues: d.Queues, Slots: d.Slots / d.Queues}
}

// run is a day under way.
type run struct {
	Day
	*stage.Stage
	daemon  *stage.Process
	pilots  *pilots
	worst   []float64 // share furthest off, at each rest
	moving  []float64 // the same between two rests
	took    time.Duration
	samples []figure.Sample // while jobs ended
}

// Run goes through a day with a daemon in a process of its own, whose leases last for Day.Lease, and pilots in this one.
func Run(ctx context.Context, cfg stage.Config, d Day) (*figure.Report, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	r := &run{Day: d, Stage: &stage.Stage{Plan: d.plan(), Book: figure.NewBook(d, cfg.Progress)}}
	return stage.Run(ctx, cfg, r.Stage, r.measure)
}

func (r *run) measure(ctx context.Context) (err error) {
	r.settings()
	if err := r.open(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.daemon.Stop()) }()
	if err := r.submitFirst(ctx); err != nil {
		return err
	}
	if err := r.stocked(ctx); err != nil {
		return err
	}
	err = r.piloted(ctx, func(ctx context.Context) error {
		if err := r.sampled(ctx); err != nil {
			return err
		}
		r.pilots.close()
		return r.settled(ctx)
	})
	if err != nil {
		return err
	}
	if err := r.account(ctx); err != nil {
		return err
	}
	return r.figures()
}

func (r *run) open(ctx context.Context) (err error) {
	r.Book.Say("starting the daemon")
	if r.daemon, err = stage.Start(ctx, r.Config.Daemon, r.Place.DSN); err != nil {
		return err
	}
	if _, err = r.daemon.Client.Site().Apply(ctx, []byte(r.Plan.File()), client.ApplyOptions{By: "divvy-bench day"}); err == nil {
		err = r.ReadSite(ctx)
	}
	if err != nil {
		return errors.Join(err, r.daemon.Stop())
	}
	r.pilots = newPilots(r.Day, r.Plan, r.daemon.Client)
	return nil
}

// piloted has pilots work while do runs: without them there is nothing to wait for, so that it ends when they do.
func (r *run) piloted(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		err := r.pilots.run(ctx)
		if err != nil {
			cancel()
		}
		ended <- err
	}()
	err := do(ctx)
	if err != nil {
		cancel()
	}
	r.pilots.stop()
	return errors.Join(<-ended, err)
}

// sampled is the day with a sampler of memory, tables and processor time.
func (r *run) sampled(ctx context.Context) error {
	group, inner := errgroup.WithContext(ctx)
	looking, over := context.WithCancel(inner)
	group.Go(func() error {
		err := r.sample(looking)
		if looking.Err() != nil { // the day is over, or says itself what it failed of
			return nil
		}
		return err
	})
	group.Go(func() error { defer over(); return r.parts(inner) })
	return group.Wait()
}

func (r *run) parts(ctx context.Context) error {
	r.Book.Say("filling %d slots", r.Slots)
	if err := r.full(ctx); err != nil {
		return err
	}
	r.Book.Say("until every share has what is its own")
	if err := r.balance(ctx); err != nil {
		return err
	}
	r.pilots.begin()
	part := r.fast(r.Length) / time.Duration(r.Rests)
	for i := range r.Rests {
		r.Book.Say("part %d of %d: %.0f s", i+1, r.Rests, part.Seconds())
		if err := r.submitBurst(ctx, i); err != nil {
			return err
		}
		r.pilots.move(true)
		if err := r.watch(ctx, part); err != nil {
			return err
		}
		r.pilots.move(false)
		if err := r.rest(ctx); err != nil {
			return err
		}
	}
	r.took = time.Since(r.pilots.beganAt())
	return nil
}
