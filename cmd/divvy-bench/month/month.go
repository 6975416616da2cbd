package month

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/past"
	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/report"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Month is the history that reports are asked about.
type Month struct {
	Jobs      int `json:"jobs"`      // attempts, as many each day, beside
	Yesterday int `json:"yesterday"` // those of the newest day, which some reports read one by one
	Days      int `json:"days"`
	Rounds    int `json:"rounds"` // of every report
}

// Large is a month like ATLAS's.
func Large() Month { return Month{Jobs: 29_000_000, Yesterday: 1_000_000, Days: 30, Rounds: 3} }

const (
	slowest     = 1.0  // seconds that a daily question may take
	tasksOfDay  = 3000 // as many as a day has
	stepOfMonth = 60   // batches, of a minute each, that a step of the fold has
)

// run is one under way. Its last day ends now.
type run struct {
	Month
	*stage.Stage
	log    *past.Log
	folder *fold.Folder
	begin  time.Time
	folded time.Duration // that the steps of the fold took
	rolled time.Duration // that the sums by node took
}

// Run folds the log of a month of attempts into the tables of a new database, compares what they cost with a recount, and times
// every report for the last day, and more questions: statements by what they answer, asked in the order of their names.
func Run(ctx context.Context, cfg stage.Config, m Month, questions map[string]string) (*figure.Report, error) {
	if m.Jobs < m.Days || m.Yesterday < 1 || m.Days < 2 || m.Rounds < 1 {
		return nil, fmt.Errorf("this month makes no sense: an attempt a day and two days at least: %+v", m)
	}
	r := &run{Month: m, Stage: &stage.Stage{Book: figure.NewBook(m, cfg.Progress)}}
	return stage.Run(ctx, cfg, r.Stage, func(ctx context.Context) error {
		if err := r.fill(ctx); err != nil {
			return err
		}
		r.Book.Say("VACUUM ANALYZE, recount")
		if err := r.check(ctx); err != nil {
			return err
		}
		return r.ask(ctx, questions)
	})
}

// fill writes the site, then day by day the jobs, what is folded of their attempts, and what their pilots said.
func (r *run) fill(ctx context.Context) error {
	r.begin = time.Now().UTC().Truncate(time.Minute).AddDate(0, 0, -r.Days)
	if err := r.site(ctx); err != nil {
		return err
	}
	for day := range r.Days {
		n := r.Jobs / (r.Days - 1)
		if day == r.Days-1 {
			n = r.Yesterday
		}
		r.Book.Say("day %d of %d: folding %d attempts", day+1, r.Days, n)
		if err := r.day(ctx, day, n); err != nil {
			return fmt.Errorf("day %d: %w", day+1, err)
		}
	}
	return nil
}

// site makes shares, queues, tasks and shapes, and the log of them.
func (r *run) site(ctx context.Context) (err error) {
	for _, verb := range []string{"month_site", "month_rest"} {
		if _, err := r.Place.Pool.Exec(ctx, query[verb], pgx.StrictNamedArgs{"days": r.Days}); err != nil {
			return fmt.Errorf("%s: %w", verb, err)
		}
	}
	cfg := past.Config{Begin: r.begin, PerDay: tasksOfDay, Seed: 1}
	if cfg.Tasks, err = pg.CollectTo(ctx, pgx.RowToStructByPos[past.Task], r.Place.Pool, query["month_tasks"]); err != nil {
		return err
	}
	if cfg.Queues, err = pg.CollectTo(ctx, pgx.RowToStructByPos[past.Queue], r.Place.Pool, query["month_queues"]); err != nil {
		return err
	}
	needs := []job.Requirements{{Cores: 8}, {Cores: 1}, {Cores: 8}}
	var ids []int32
	err = pg.InTx(ctx, r.Place.Pool, func(tx pgx.Tx) (err error) { ids, err = intake.InternAll(ctx, tx, needs); return err })
	if err != nil {
		return err
	}
	for i, id := range ids {
		cfg.Shapes = append(cfg.Shapes, past.Shape{ID: id, Cores: needs[i].Cores})
	}
	if cfg.First, err = r.Place.TakeIDs(ctx, r.Jobs+r.Yesterday); err != nil {
		return err
	}
	r.log = past.New(cfg)
	r.folder = fold.New(r.Place.Pool, r.log, nil)
	return nil
}

// day writes the jobs of a day, and folds and rolls up what becomes of them.
func (r *run) day(ctx context.Context, day, n int) error {
	if err := r.jobs(ctx, day, n); err != nil {
		return err
	}
	for {
		began := time.Now()
		f, err := r.folder.Fold(ctx, stepOfMonth)
		r.folded += time.Since(began)
		if err != nil {
			return err
		}
		if f.Odds > 0 {
			return recount.Failedf("%d entries do not fit: %v", f.Odds, f.Odd)
		}
		if f.Batches == 0 {
			break
		}
	}
	began := time.Now()
	if err := r.folder.RollNodes(ctx); err != nil {
		return err
	}
	r.rolled += time.Since(began)
	since := r.begin.AddDate(0, 0, day)
	_, err := r.Place.Pool.Exec(ctx, query["month_texts"], pgx.StrictNamedArgs{"since": since, "until": since.AddDate(0, 0, 1)})
	return err
}

func (r *run) jobs(ctx context.Context, day, n int) error {
	blocks := r.log.Add(n)
	if err := r.Place.MakeJobs(ctx, blocks[0].Low, n); err != nil {
		return err
	}
	made := r.begin.AddDate(0, 0, day)
	_, err := r.Place.Pool.CopyFrom(ctx, pgx.Identifier{"job_blocks"}, []string{"low", "high", "task_id", "made_at", "share_id", "shape_id", "priority", "max_attempts", "again"},
		pgx.CopyFromSlice(len(blocks), func(i int) ([]any, error) {
			b := blocks[i]
			return []any{b.Low, b.High, b.Task, made, b.Share, b.Shape, 0, 3, false}, nil
		}))
	return err
}

// check compares what attempts cost with a recount, and writes down how large all is.
func (r *run) check(ctx context.Context) error {
	if _, err := r.Place.Pool.Exec(ctx, "VACUUM ANALYZE"); err != nil {
		return err
	}
	agree, err := recount.Value[bool](ctx, r.Place.Pool, query["month_check"])
	if err != nil {
		return err
	}
	if !agree {
		return recount.Failed(errors.New("the roll-ups are not what a recount of the attempts comes to"))
	}
	r.Book.Checked("the roll-ups agree with a recount")
	type size struct {
		Attempts          int64
		AttemptsMB        float64
		Hours, Days, Held int64
		RollupsMB         float64
	}
	s, err := pg.Row[size](ctx, r.Place.Pool, query["month_size"])
	per := func(took time.Duration) float64 { return float64(s.Attempts) / took.Seconds() }
	r.Book.Set("history", "%d attempts, %.0f MB, %d held; roll-ups of %d hours and %d days (share, queue, user), %.0f MB; folded at %.0f attempts/s, summed by node at %.0f",
		s.Attempts, s.AttemptsMB, s.Held, s.Hours, s.Days, s.RollupsMB, per(r.folded), per(r.rolled))
	return err
}

// ask times the reports by name, for a day, and what else is asked.
func (r *run) ask(ctx context.Context, questions map[string]string) error {
	reader := report.NewReader(r.Place.Pool)
	for _, is := range report.List() {
		err := r.timed(is.Name, func() error {
			_, err := reader.Run(ctx, is.Name, "", time.Now().Add(-24*time.Hour))
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(questions)) {
		err := r.timed(name, func() error {
			_, err := r.Place.Pool.Exec(ctx, questions[name])
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// timed asks a question in all rounds; what counts is the median.
func (r *run) timed(name string, ask func() error) error {
	var took []float64
	for range r.Month.Rounds {
		began := time.Now()
		if err := ask(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		took = append(took, time.Since(began).Seconds())
	}
	one := figure.Of(name, "s", took...)
	r.Book.Add(figure.AtMost("month", name, one.Median, slowest, one))
	return nil
}
