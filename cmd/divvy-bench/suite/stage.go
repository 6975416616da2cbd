package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/divvyhq/divvy/cmd/divvy-bench/profile"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/series"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

// stage is a run under way: where things are, and what ought to be there.
type stage struct {
	Sizes
	cfg     Config
	report  *Report
	profile *profile.Profiler
	place   *place
	served  Served
	gen     *generator.Generator
	plan    plan // the site; that of the base data set when nothing is said
	leaves  []leaf

	store *site.Store // of the site

	holds int     // base leases
	kept  []claim // they
	extra int     // jobs enqueued beside the tasks
	seen  bitmap  // every job that was ever claimed
	open  []claim // claims that are not finished yet
	taken int     // ready jobs that have gone since the last refill

	unchecked []string    // measurements since the last recount
	before    claimRounds // brief: those of S2, with which S6 compares
}

// claim is a lease that a client was given.
type claim struct {
	job   int64
	lease string
}

// inLine is a writer for several data sets that are made at the same time.
type inLine struct {
	mu sync.Mutex
	to io.Writer
}

// Write is io.Writer.
func (l *inLine) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}

func (s *stage) say(format string, args ...any) {
	fmt.Fprintf(s.cfg.Progress, "%6.1f s  %s\n", time.Since(s.report.Began).Seconds(), fmt.Sprintf(format, args...))
}

// layout is the site of this data set.
func (s *stage) layout() plan {
	if s.plan.queues == 0 {
		return basePlan
	}
	return s.plan
}

func (s *stage) figure(f Figure)        { s.report.Figures = append(s.report.Figures, f) }
func (s *stage) command(command string) { s.report.Commands = append(s.report.Commands, command) }

// stop ends the daemon, then the database.
func (s *stage) stop(ctx context.Context) error {
	return errors.Join(s.unserve(ctx), s.place.close(ctx))
}

// unserve ends the daemon, if there is one.
func (s *stage) unserve(ctx context.Context) (err error) {
	if s.served.Stop != nil {
		err = s.served.Stop(ctx)
	}
	s.served = Served{}
	return err
}

// Room for ids of jobs that a daemon makes ahead, and the size of their partitions.
const (
	jobRoom = 20_000_000
	jobSize = 10_000_000
)

// load applies the site and generates the base data set in as many portions as there are rounds. It returns the
// rates: jobs a second into an idle database, from the first look at the tasks to the last commit.
func (s *stage) load(ctx context.Context) (Series, error) {
	store := site.NewStore(site.Config{Pool: s.place.pool, Hooks: site.Hooks{
		Barrier: intake.Barrier, Live: generator.Live, Applied: intake.Rebase}})
	if _, err := store.Apply(ctx, site.ApplyRequest{Source: []byte(s.layout().file()), Name: "bench", By: "divvy-bench"}); err != nil {
		return Series{}, err
	}
	at, err := store.Load(ctx)
	if err != nil {
		return Series{}, err
	}
	s.leaves, s.store = leaves(at.Tree), store
	if _, err := intake.Extend(ctx, s.place.pool, jobRoom, jobSize); err != nil { // as a daemon does when it starts
		return Series{}, err
	}
	const everything = 1 << 40 // the mark is about stock; here all of it is wanted
	s.gen = generator.New(generator.Config{Pool: s.place.pool, Site: store.Load, Log: s.cfg.Log,
		Mark: generator.Mark{Floor: everything, Cap: everything}})
	var rates []float64
	total := s.Ready + s.Held
	for r := range s.Rounds {
		n := total*(r+1)/s.Rounds - total*r/s.Rounds
		s.say("generating %d jobs", n)
		for shape := range nShapes {
			if err := s.submit(ctx, shape, n*(shape+1)/nShapes-n*shape/nShapes); err != nil {
				return Series{}, err
			}
		}
		took, err := s.generate(ctx)
		if err != nil {
			return Series{}, err
		}
		rates = append(rates, float64(n)/took.Seconds())
	}
	s.say("VACUUM ANALYZE")
	if _, err := s.place.pool.Exec(ctx, "VACUUM ANALYZE"); err != nil {
		return Series{}, err
	}
	return newSeries("generated", "jobs/s", rates), nil
}

// submit makes a task of every leaf, n jobs in all.
func (s *stage) submit(ctx context.Context, shape, n int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i, count := range divide(n, s.leaves) {
		if count == 0 {
			continue
		}
		group.Go(func() error {
			_, err := s.gen.Submit(ctx, generator.SubmitRequest{Spec: work(s.leaves[i].path, shapes[shape], count)})
			return err
		})
	}
	return group.Wait()
}

// generators is how many workers generate, as in a daemon's default.
const generators = 2

// generate runs the generator until no task has pieces left.
func (s *stage) generate(ctx context.Context) (took time.Duration, err error) {
	began := time.Now()
	for {
		group, inner := errgroup.WithContext(ctx)
		for range generators {
			group.Go(func() error {
				for n := 1; n > 0; {
					var err error
					if n, err = s.gen.Generate(inner); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return 0, err
		}
		took = time.Since(began)
		var left int64
		if err := s.place.pool.QueryRow(ctx, query["pieces_left"]).Scan(&left); err != nil || left == 0 {
			return took, err
		}
	}
}

// serve starts the daemon.
func (s *stage) serve(ctx context.Context) (err error) {
	s.say("starting the daemon")
	if s.served, err = s.cfg.Serve(ctx, s.place.dsn); err != nil {
		return err
	}
	return s.place.inLog(ctx)
}

// hold leases the jobs that are held all the time.
func (s *stage) hold(ctx context.Context) error { return s.holdUpTo(ctx, s.Held) }

// holdUpTo leases jobs until so many are held.
func (s *stage) holdUpTo(ctx context.Context, n int) error {
	s.say("leasing %d jobs to be held", n-s.holds)
	for pilot := 0; s.holds < n; pilot++ {
		reply, err := s.served.Dispatcher.Pull(ctx, dispatcher.PullRequest{
			Queue: s.layout().queue(pilot), Pilot: fmt.Sprint("held-", pilot), Max: min(1000, n-s.holds), WaitS: 10})
		if err != nil {
			return fmt.Errorf("hold: %w", err)
		}
		for _, l := range reply.Leases {
			if err := s.seen.add(l.Job); err != nil {
				return &CheckError{[]error{err}}
			}
			s.kept = append(s.kept, claim{l.Job, l.Lease})
		}
		s.holds += len(reply.Leases)
	}
	return nil
}

// back serves again, if the daemon was stopped for others, and restores the data set.
func (s *stage) back(ctx context.Context) error {
	if s.served.Stop == nil {
		if err := s.serve(ctx); err != nil {
			return err
		}
	}
	return s.restore(ctx)
}

// restore brings the base data set back, and the tables up to it: what was claimed is finished, and as many jobs are generated meanwhile.
func (s *stage) restore(ctx context.Context) error {
	if len(s.open) == 0 {
		return nil
	}
	n := s.missing(len(s.open))
	s.say("finishing %d jobs and generating %d", len(s.open), n)
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() error { return s.finish(inner, s.served.Dispatcher) })
	group.Go(func() error { return s.refill(inner, n) })
	return errors.Join(group.Wait(), s.level(ctx))
}

// missing is how many jobs are to be made when n more have gone: all that are not there, in a brief run not before
// they are a quarter of what is ready. A refill has hundreds of tasks, however few jobs it makes.
func (s *stage) missing(n int) int {
	s.taken += n
	if s.taken <= 0 || s.Brief && s.taken < s.Ready/4 {
		return 0
	}
	n, s.taken = s.taken, 0
	return n
}

// refill makes n jobs of all shapes alike. With one shape a refill, queues that may run two of the four would find
// nothing after some millions of claims: the oldest jobs go first.
func (s *stage) refill(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}
	for shape := range nShapes {
		if err := s.submit(ctx, shape, n*(shape+1)/nShapes-n*shape/nShapes); err != nil {
			return err
		}
	}
	if _, err := s.generate(ctx); err != nil {
		return err
	}
	if s.served.Dispatcher == nil {
		return nil // whoever starts next takes them into the log first
	}
	s.served.Dispatcher.Written()
	return s.place.inLog(ctx)
}

// inLog waits until the leader has taken all that was made into the log.
func (p *place) inLog(ctx context.Context) error {
	deadline := time.Now().Add(5 * time.Minute)
	for {
		end, err := p.logEnd(ctx)
		if err != nil || end.Pending == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d rows of the outbox are not in the log after five minutes", end.Pending)
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// level has the tables made of all that is in the log by now, and the sums that are made of them now and then: what ended between two rounds
// is no part of the second. The daemon folds too; what it has not come to yet is part of what was measured.
func (s *stage) level(ctx context.Context) error {
	end, err := s.place.logEnd(ctx)
	if err != nil {
		return err
	}
	folder := fold.New(s.place.pool, ledger.New(s.place.pool), func(ctx context.Context, number int64) (shares.Version, error) {
		at, err := s.store.Get(ctx, number)
		if err != nil {
			return shares.Version{}, err
		}
		return at.Version(), nil
	})
	for end.Folded < end.Newest {
		if _, err := folder.Fold(ctx, foldBatches); err != nil && !errors.Is(err, fold.ErrRaced) {
			return err
		}
		at, err := folder.Position(ctx)
		if err != nil {
			return err
		}
		end.Folded = at.Seq
	}
	_, err = (&series.Sampler{DB: s.place.pool}).Wait(ctx) // or the daemon is at it
	return errors.Join(err, folder.RollNodes(ctx))
}

// foldBatches is how many batches a step of the fold takes, as in a daemon.
const foldBatches = 400

// finisher takes the ends of attempts: a daemon here, or the client of one.
type finisher interface {
	Finish(context.Context, dispatcher.FinishRequest) (dispatcher.FinishReply, error)
}

// finish ends all open claims, a thousand a call.
func (s *stage) finish(ctx context.Context, at finisher) error {
	var mu sync.Mutex
	lost := 0
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for first := 0; first < len(s.open); first += 1000 {
		batch := s.open[first:min(first+1000, len(s.open))]
		group.Go(func() error {
			req := dispatcher.FinishRequest{Pilot: "bench"}
			for _, c := range batch {
				req.Results = append(req.Results, dispatcher.Result{Lease: c.lease, Outcome: dispatcher.Finished})
			}
			reply, err := at.Finish(inner, req)
			mu.Lock()
			defer mu.Unlock()
			for _, v := range reply.Verdicts {
				if v.Verdict != dispatcher.Recorded {
					lost++
				}
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("finish: %w", err)
	}
	if lost > 0 {
		return &CheckError{[]error{fmt.Errorf("%d of %d leases were lost before they were finished", lost, len(s.open))}}
	}
	s.open = nil
	return nil
}
