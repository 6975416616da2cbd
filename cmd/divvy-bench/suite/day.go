package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/internal/site"
)

// Day is a day of a site in fast motion: all slots are busy, jobs end, fail and are lost, shares have work and have none.
// Times of the day are divided by Speed; what pilots and daemon say to each other is not: leases are renewed as often as
// ever, so that a second has Speed times as many ends and starts as at the site, and as many renewals as its leases need.
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
	Lease   time.Duration `json:"lease"`    // until a lease that nobody renews is over
	Seed    uint64        `json:"seed"`
}

// DayOf is a day of PanDA's size: 600,000 slots, jobs of 20 hours, in a hundredth of the time.
func DayOf() Day {
	return Day{Slots: 600_000, Node: 64, Queues: 200, Tree: [3]int{4, 5, 5}, Speed: 100, Length: 24 * time.Hour, MeanJob: 20 * time.Hour,
		Fail: 0.05, Lose: 0.005, Rests: 4, Lease: 180 * time.Second, Seed: 1}
}

// ShortDay is one for tests: the same in a small site, where the ends of a second are as large a part of the slots as
// they can be for a lease of three seconds to be renewed in time.
func ShortDay() Day {
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

// sitePlan is the site of the day: the tree and queues of the base data set, of other sizes.
func (d Day) sitePlan() plan {
	return plan{tree: d.Tree, cycle: 5, queues: d.Queues, slots: d.Slots / d.Queues}
}

// DayConfig is what a day needs.
type DayConfig struct {
	Day
	Database      string   // as in Config
	DaemonCommand []string // the program, with its arguments, that runs Daemon with leases of Day.Lease
	Progress      io.Writer
	Log           *slog.Logger
}

// dayRun is a day under way.
type dayRun struct {
	Day
	*stage
	daemon *process
	client *client.Client
	site   *dayPilots
	worst  []float64 // share furthest off, at each rest
	moving []float64 // the same between two rests
	took   time.Duration

	samples []Sample // while jobs ended
}

// RunDay goes through a day with a daemon in a process of its own and pilots in this one. A check that fails is a
// *CheckError, and no figure is reported.
func RunDay(ctx context.Context, cfg DayConfig) (report *Report, err error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Progress == nil {
		cfg.Progress = io.Discard
	}
	before := machine("at the start")
	s := &stage{cfg: Config{Database: cfg.Database, DaemonCommand: cfg.DaemonCommand, Progress: &inLine{to: cfg.Progress}, Log: cfg.Log},
		report: &Report{Began: time.Now()}, plan: cfg.sitePlan()}
	s.say("making a database")
	if s.place, err = openPlace(ctx, cfg.Database, cfg.Log); err != nil {
		return nil, err
	}
	r := &dayRun{Day: cfg.Day, stage: s}
	defer func() { err = errors.Join(err, r.stop(context.WithoutCancel(ctx))) }()
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	if err := r.live(ctx); err != nil {
		return nil, err
	}
	server, err := s.place.settings(ctx)
	if err != nil {
		return nil, err
	}
	s.report.Settings = append(append(before, machine("at the end")[:1]...), append(r.settings(), server...)...)
	s.report.TookS = time.Since(s.report.Began).Seconds()
	return s.report, nil
}

// open starts the daemon and gives it its site and the first work.
func (r *dayRun) open(ctx context.Context) error {
	if err := r.start(ctx); err != nil {
		return err
	}
	return r.submitFirst(ctx)
}

// start starts the daemon and gives it its site.
func (r *dayRun) start(ctx context.Context) (err error) {
	r.say("starting the daemon")
	if r.daemon, err = r.startDaemon(ctx); err != nil {
		return err
	}
	r.client = r.daemon.client
	if _, err := r.client.Apply(ctx, []byte(r.plan.file()), client.ApplyOptions{By: "divvy-bench day"}); err != nil {
		return err
	}
	store := site.NewStore(site.Config{Pool: r.place.pool})
	at, err := store.Load(ctx)
	if err != nil {
		return err
	}
	r.leaves, r.store = leaves(at.Tree), store
	return nil
}

func (r *dayRun) stop(ctx context.Context) error {
	var err error
	if r.daemon != nil {
		err = r.daemon.stop()
	}
	return errors.Join(err, r.stage.stop(ctx))
}

// live fills the slots, lets the day go by, part by part, and counts what has become of it.
func (r *dayRun) live(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.site = r.newPilots()
	if err := r.stocked(ctx); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		err := r.site.run(ctx)
		if err != nil {
			cancel() // without pilots there is nothing to wait for
		}
		ended <- err
	}()
	err := r.sampled(ctx)
	if err == nil {
		r.site.close()
		err = r.settled(ctx)
	}
	if err != nil {
		cancel()
	}
	r.site.stop()
	if err = errors.Join(<-ended, err); err != nil {
		return err
	}
	if err := r.account(ctx); err != nil {
		return err
	}
	return r.figures()
}

// sampled is the day with somebody who looks at what it weighs.
func (r *dayRun) sampled(ctx context.Context) error {
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

// parts is the day from rest to rest.
func (r *dayRun) parts(ctx context.Context) error {
	r.say("filling %d slots", r.Slots)
	if err := r.full(ctx); err != nil {
		return err
	}
	r.say("until every share has what is its own")
	if err := r.balance(ctx); err != nil {
		return err
	}
	r.site.begin()
	part := r.fast(r.Length) / time.Duration(r.Rests)
	for i := range r.Rests {
		r.say("part %d of %d: %.0f s", i+1, r.Rests, part.Seconds())
		if err := r.submitBurst(ctx, i); err != nil {
			return err
		}
		r.site.move(true)
		if err := r.watch(ctx, part); err != nil {
			return err
		}
		r.site.move(false)
		if err := r.rest(ctx); err != nil {
			return err
		}
	}
	r.took = time.Since(r.site.began)
	return nil
}
