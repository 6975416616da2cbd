package stage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/view"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/load"
	"github.com/divvyhq/divvy/cmd/divvy-bench/profile"
	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site"
)

// Sizes is the base of the data set, and how rounds are.
type Sizes struct {
	Ready      int           `json:"ready"`       // ready jobs when a round begins
	Held       int           `json:"held"`        // leases when a round begins
	Pullers    int           `json:"pullers"`     // concurrent pulls, in process and over HTTP
	Round      time.Duration `json:"round"`       // one side of one round
	Rounds     int           `json:"rounds"`      // of every measurement
	RequestIDs bool          `json:"request_ids"` // every pull names one, as the reference pilot's do
	Brief      bool          `json:"brief"`       // what several measurements need is made once
}

// Enough is how many of the ready jobs one round may take: the data set should not run dry.
func (s Sizes) Enough() int { return s.Ready * 6 / 10 }

// WarmUp precedes a round of claims and does not count: pgbench does not count its connections either.
func (s Sizes) WarmUp() time.Duration { return min(s.Round/4, time.Second) }

// Stage is a run under way: where things are, and what ought to be there.
type Stage struct {
	Sizes
	Config    Config
	Book      *figure.Book
	Profile   *profile.Profiler
	Place     *Place
	Plan      Plan // the site
	Leaves    []Leaf
	Served    Served
	Generator *generator.Generator
	Tasks     *view.Reader

	Kept      []load.Claim // that are held all the time
	Open      []load.Claim // that are not finished yet
	Extra     int          // jobs enqueued beside the tasks
	Missed    int          // ready jobs that have gone since the last refill
	seen      recount.Once // every job that was ever claimed
	unchecked []string     // measurements since the last recount
}

// Beside makes another data set in a database of its own on the same server: generated, not served yet.
func (s *Stage) Beside(ctx context.Context, sizes Sizes, plan Plan) (t *Stage, err error) {
	t = &Stage{Sizes: sizes, Config: s.Config, Book: s.Book, Plan: plan}
	if t.Place, err = OpenPlace(ctx, s.Place.DSN, s.Config.Log); err != nil {
		return nil, err
	}
	if _, err := t.Load(ctx); err != nil {
		return nil, errors.Join(err, t.Stop(context.WithoutCancel(ctx)))
	}
	return t, nil
}

// Stop ends the daemon, then the database.
func (s *Stage) Stop(ctx context.Context) error {
	return errors.Join(s.Unserve(ctx), s.Place.Close(ctx))
}

// Load applies the site and generates the base data set in as many portions as there are rounds. It returns the
// rates: jobs a second into an idle database, from the first look at the tasks to the last commit.
func (s *Stage) Load(ctx context.Context) (rates figure.Series, err error) {
	if _, err := s.Place.site.Apply(ctx, site.ApplyRequest{Source: []byte(s.Plan.File()), Name: "bench", By: "divvy-bench"}); err != nil {
		return rates, err
	}
	if err := s.ReadSite(ctx); err != nil {
		return rates, err
	}
	if _, err := intake.Extend(ctx, s.Place.Pool, jobRoom, jobSize); err != nil { // as a daemon does when it starts
		return rates, err
	}
	const everything = 1 << 40 // the mark is about stock; here all of it is wanted
	s.Tasks = view.New(s.Place.Pool, s.Place.site.Load)
	s.Generator = generator.New(generator.Config{Pool: s.Place.Pool, Site: s.Place.site.Load, Log: s.Config.Log,
		Mark: broker.Mark{Floor: everything, Cap: everything}})
	var all []float64
	for r := range s.Rounds {
		n := portion(s.Ready+s.Held, r, s.Rounds)
		s.Book.Say("generating %d jobs", n)
		if err := s.Submit(ctx, Tasks(n, s.Leaves)); err != nil {
			return rates, err
		}
		took, err := s.Generate(ctx)
		if err != nil {
			return rates, err
		}
		all = append(all, float64(n)/took.Seconds())
	}
	s.Book.Say("VACUUM ANALYZE")
	_, err = s.Place.Pool.Exec(ctx, "VACUUM ANALYZE")
	return figure.Of("generated", "jobs/s", all...), err
}

// ReadSite reads the shares that get jobs.
func (s *Stage) ReadSite(ctx context.Context) error {
	at, err := s.Place.site.Load(ctx)
	if err == nil {
		s.Leaves = Leaves(at.Tree)
	}
	return err
}

// Submit submits tasks, several at a time.
func (s *Stage) Submit(ctx context.Context, tasks []generator.SubmitRequest) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, task := range tasks {
		group.Go(func() error { _, err := s.Generator.Submissions().Submit(ctx, task); return err })
	}
	return group.Wait()
}

// Generate runs as many generators as a daemon has until no task has pieces left.
func (s *Stage) Generate(ctx context.Context) (took time.Duration, err error) {
	began := time.Now()
	for {
		group, inner := errgroup.WithContext(ctx)
		for range 2 {
			group.Go(func() (err error) {
				for n := 1; n > 0 && err == nil; {
					n, err = s.Generator.Generate(inner)
				}
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return 0, err
		}
		took = time.Since(began)
		if left, err := s.Place.PiecesLeft(ctx); err != nil || left == 0 {
			return took, err
		}
	}
}

// Hold leases jobs until so many are held.
func (s *Stage) Hold(ctx context.Context, n int) error {
	s.Book.Say("leasing %d jobs to be held", n-len(s.Kept))
	for pilot := 0; len(s.Kept) < n; pilot++ {
		reply, err := s.Served.Dispatcher.Pull(ctx, dispatcher.PullRequest{
			Queue: s.Plan.Queue(pilot), Pilot: fmt.Sprint("held-", pilot), Max: min(1000, n-len(s.Kept)), WaitS: 10})
		if err != nil {
			return fmt.Errorf("hold: %w", err)
		}
		for _, l := range reply.Leases {
			if err := s.seen.Add(l.Job); err != nil {
				return recount.Failed(err)
			}
			s.Kept = append(s.Kept, load.Claim{Job: l.Job, Lease: l.Lease})
		}
	}
	return nil
}

// Restore brings the base data set back, and the tables up to it: what was claimed is finished, and as many jobs are generated meanwhile.
func (s *Stage) Restore(ctx context.Context) error {
	if len(s.Open) == 0 {
		return nil
	}
	n := s.missing(len(s.Open))
	s.Book.Say("finishing %d jobs and generating %d", len(s.Open), n)
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() error { return s.Finish(inner, s.Served.Dispatcher) })
	group.Go(func() error { return s.Refill(inner, n) })
	return errors.Join(group.Wait(), s.Place.Level(ctx))
}

// Replace generates jobs for so many that have gone.
func (s *Stage) Replace(ctx context.Context, gone int) error {
	n := s.missing(gone)
	if n > 0 {
		s.Book.Say("generating %d jobs", n)
	}
	return s.Refill(ctx, n)
}

// missing is how many jobs are to be made when n more have gone: all that are not there, in a brief run not before
// they are a quarter of what is ready. A refill has hundreds of tasks, however few jobs it makes.
func (s *Stage) missing(n int) int {
	s.Missed += n
	if s.Missed <= 0 || s.Brief && s.Missed < s.Ready/4 {
		return 0
	}
	n, s.Missed = s.Missed, 0
	return n
}

// Refill makes n jobs, and waits until they are in the log.
func (s *Stage) Refill(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}
	if err := s.Submit(ctx, Tasks(n, s.Leaves)); err != nil {
		return err
	}
	if _, err := s.Generate(ctx); err != nil || s.Served.Dispatcher == nil { // the next daemon puts them into the log first
		return err
	}
	s.Served.Dispatcher.Written()
	return s.Place.InLog(ctx)
}

// Finisher takes the ends of attempts: a daemon here, or the client of one.
type Finisher interface {
	Finish(context.Context, dispatcher.FinishRequest) (dispatcher.FinishReply, error)
}

// Remote is the daemon behind a client, as a Finisher.
type Remote struct{ *client.Client }

// Finish is the client's, with the shapes of the wire.
func (r Remote) Finish(ctx context.Context, req dispatcher.FinishRequest) (dispatcher.FinishReply, error) {
	reply, err := r.Client.Finish(ctx, wire.As[wire.FinishRequest](req))
	return wire.As[dispatcher.FinishReply](reply), err
}

// Finish ends all open claims, a thousand a call.
func (s *Stage) Finish(ctx context.Context, at Finisher) error {
	var lost atomic.Int64
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for first := 0; first < len(s.Open); first += 1000 {
		batch := s.Open[first:min(first+1000, len(s.Open))]
		group.Go(func() error {
			req := dispatcher.FinishRequest{Pilot: "bench"}
			for _, c := range batch {
				req.Results = append(req.Results, dispatcher.Result{Lease: c.Lease, Outcome: dispatcher.Finished})
			}
			reply, err := at.Finish(inner, req)
			for _, v := range reply.Verdicts {
				if v.Verdict != dispatcher.Recorded {
					lost.Add(1)
				}
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("finish: %w", err)
	}
	if n := lost.Load(); n > 0 {
		return recount.Failedf("%d of %d leases were lost before they were finished", n, len(s.Open))
	}
	s.Open = nil
	return nil
}

// Took remembers what clients were given in a round, and checks it: nothing twice, and all of it leased.
func (s *Stage) Took(ctx context.Context, claims []load.Claim) error {
	s.Open = append(s.Open, claims...)
	return s.given(ctx, claims, "check_claimed", "are leased")
}

// given checks jobs that clients were given: none before, and all of them stand in the tables as they should.
func (s *Stage) given(ctx context.Context, claims []load.Claim, verb, how string) error {
	var wrong []error
	jobs := make([]int64, 0, len(claims))
	for _, c := range claims {
		jobs = append(jobs, c.Job)
		if err := s.seen.Add(c.Job); err != nil && len(wrong) < 10 {
			wrong = append(wrong, err)
		}
	}
	if err := s.Place.Level(ctx); err != nil {
		return err
	}
	n, err := recount.Value[int](ctx, s.Place.Pool, query[verb], pgx.StrictNamedArgs{"jobs": jobs})
	if err != nil {
		return err
	}
	if n != len(jobs) {
		wrong = append(wrong, fmt.Errorf("%d of %d jobs %s", n, len(jobs), how))
	}
	return recount.Failed(wrong...)
}

// Measured is what stands at the end of every measurement: a recount. In a brief run it waits for Settle: nothing that it would find goes
// away by itself.
func (s *Stage) Measured(ctx context.Context, what string) error {
	s.unchecked = append(s.unchecked, what)
	if s.Brief {
		return nil
	}
	return s.Settle(ctx)
}

// Settle checks what has been measured since the last time.
func (s *Stage) Settle(ctx context.Context) error {
	if len(s.unchecked) == 0 {
		return nil
	}
	after := strings.Join(s.unchecked, ", ")
	s.unchecked = nil
	if err := s.Place.Level(ctx); err != nil {
		return err
	}
	return s.Verify(ctx, s.Place.Pool, after, len(s.Kept)+len(s.Open))
}

// Verify recounts what the tables have; so many jobs are leased.
func (s *Stage) Verify(ctx context.Context, db pg.Querier, after string, leased int) error {
	s.Book.Say("checking: recount after %s", after)
	version, err := s.Place.Version(ctx)
	if err != nil {
		return err
	}
	t, err := recount.All(ctx, db, version, leased, s.Extra)
	if err != nil {
		return err
	}
	s.Book.Checked("after %s: %d jobs made, %d live, %d ended, %d leased as clients were told, none claimed twice, none lost, counts = recount, no queue over its slots, no pool and no share over its limit",
		after, t.Made+int64(s.Extra), t.Live, t.Ended, t.Held)
	return nil
}
