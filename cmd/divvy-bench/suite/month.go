package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/cmd/divvy-bench/past"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/report"
)

// Month is the history that reports are asked about.
type Month struct {
	Jobs      int `json:"jobs"`      // attempts, as many each day, beside
	Yesterday int `json:"yesterday"` // those of the newest day, which some reports read one by one
	Days      int `json:"days"`
	Rounds    int `json:"rounds"` // of every report
}

// MonthOf is a month like ATLAS's.
func MonthOf() Month { return Month{Jobs: 29_000_000, Yesterday: 1_000_000, Days: 30, Rounds: 3} }

// MonthConfig is what a run needs, as in Config.
type MonthConfig struct {
	Month
	Database  string
	Questions map[string]string // more statements to time, by what they answer; the order of asking is by name
	Progress  io.Writer
	Log       *slog.Logger
}

// slowest is what a daily question may take, in seconds.
const slowest = 1.0

// RunMonth folds the log of a month of attempts into the tables of a new database, compares what they cost with a recount, and times
// every report for the last day.
func RunMonth(ctx context.Context, cfg MonthConfig) (out *Report, err error) {
	if cfg.Jobs < cfg.Days || cfg.Yesterday < 1 || cfg.Days < 2 || cfg.Rounds < 1 {
		return nil, fmt.Errorf("this month makes no sense: an attempt a day and two days at least: %+v", cfg.Month)
	}
	s := &stage{report: &Report{Began: time.Now()}, cfg: Config{Progress: &inLine{to: cfg.Progress}, Log: cfg.Log}}
	if s.place, err = openPlace(ctx, cfg.Database, cfg.Log); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.place.close(context.WithoutCancel(ctx))) }()
	s.report.Settings = machine("at the start")
	m := &month{stage: s, Month: cfg.Month}
	if err := m.fill(ctx); err != nil {
		return nil, err
	}
	s.say("VACUUM ANALYZE, recount")
	if err := m.check(ctx); err != nil {
		return nil, err
	}
	if err := s.askMonth(ctx, cfg); err != nil {
		return nil, err
	}
	s.report.TookS = time.Since(s.report.Began).Seconds()
	return s.report, nil
}

// monthTasks is how many tasks a day has.
const monthTasks = 3000

// month is one under way. Its last day ends now.
type month struct {
	*stage
	Month
	log    *past.Log
	folder *fold.Folder
	begin  time.Time
	folded time.Duration // that the steps of the fold took
	rolled time.Duration // that the sums by node took
}

// fill writes the site, then day by day the jobs, what is folded of their attempts, and what their pilots said.
func (m *month) fill(ctx context.Context) error {
	m.begin = time.Now().UTC().Truncate(time.Minute).AddDate(0, 0, -m.Days)
	if err := m.site(ctx); err != nil {
		return err
	}
	for day := range m.Days {
		n := m.Jobs / (m.Days - 1)
		if day == m.Days-1 {
			n = m.Yesterday
		}
		m.say("day %d of %d: folding %d attempts", day+1, m.Days, n)
		if err := m.day(ctx, day, n); err != nil {
			return fmt.Errorf("day %d: %w", day+1, err)
		}
	}
	return nil
}

// site makes shares, queues, tasks and shapes, and the log of them.
func (m *month) site(ctx context.Context) error {
	for _, verb := range []string{"month_site", "month_rest"} {
		if _, err := m.place.pool.Exec(ctx, query[verb], pgx.StrictNamedArgs{"days": m.Days}); err != nil {
			return fmt.Errorf("%s: %w", verb, err)
		}
	}
	cfg := past.Config{Begin: m.begin, PerDay: monthTasks, Seed: 1}
	var err error
	if cfg.Tasks, err = all[past.Task](ctx, m.place, "month_tasks"); err != nil {
		return err
	}
	if cfg.Queues, err = all[past.Queue](ctx, m.place, "month_queues"); err != nil {
		return err
	}
	needs := []job.Requirements{{Cores: 8}, {Cores: 1}, {Cores: 8}}
	var ids []int32
	err = pg.InTx(ctx, m.place.pool, func(tx pgx.Tx) (err error) { ids, err = intake.InternAll(ctx, tx, needs); return err })
	if err != nil {
		return err
	}
	for i, id := range ids {
		cfg.Shapes = append(cfg.Shapes, past.Shape{ID: id, Cores: needs[i].Cores})
	}
	if cfg.First, err = m.place.takeIDs(ctx, m.Jobs+m.Yesterday); err != nil {
		return err
	}
	m.log = past.New(cfg)
	m.folder = fold.New(m.place.pool, m.log, nil)
	return nil
}

// all reads all rows of a statement.
func all[R any](ctx context.Context, p *place, verb string) ([]R, error) {
	rows, err := p.pool.Query(ctx, query[verb])
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[R])
}

// monthStep is how many batches, of a minute each, a step of the fold has.
const monthStep = 60

// day writes the jobs of a day, and folds and rolls up what becomes of them.
func (m *month) day(ctx context.Context, day, n int) error {
	if err := m.jobs(ctx, day, n); err != nil {
		return err
	}
	for {
		began := time.Now()
		r, err := m.folder.Fold(ctx, monthStep)
		m.folded += time.Since(began)
		if err != nil {
			return err
		}
		if r.Odds > 0 {
			return &CheckError{[]error{fmt.Errorf("%d entries do not fit: %v", r.Odds, r.Odd)}}
		}
		if r.Batches == 0 {
			break
		}
	}
	began := time.Now()
	if err := m.folder.RollNodes(ctx); err != nil {
		return err
	}
	m.rolled += time.Since(began)
	since := m.begin.AddDate(0, 0, day)
	_, err := m.place.pool.Exec(ctx, query["month_texts"], pgx.StrictNamedArgs{"since": since, "until": since.AddDate(0, 0, 1)})
	return err
}

// jobs writes the jobs of a day and their blocks.
func (m *month) jobs(ctx context.Context, day, n int) error {
	blocks := m.log.Add(n)
	first := blocks[0].Low
	if _, err := m.place.pool.Exec(ctx, query["history_jobs"], pgx.StrictNamedArgs{"first": first, "n": n}); err != nil {
		return err
	}
	made := m.begin.AddDate(0, 0, day)
	_, err := m.place.pool.CopyFrom(ctx, pgx.Identifier{"job_blocks"}, []string{"low", "high", "task_id", "made_at", "share_id", "shape_id", "priority", "max_attempts", "again"},
		pgx.CopyFromSlice(len(blocks), func(i int) ([]any, error) {
			b := blocks[i]
			return []any{b.Low, b.High, b.Task, made, b.Share, b.Shape, 0, 3, false}, nil
		}))
	return err
}

// check compares what attempts cost with a recount, and writes down how large all is.
func (m *month) check(ctx context.Context) error {
	if _, err := m.place.pool.Exec(ctx, "VACUUM ANALYZE"); err != nil {
		return err
	}
	var agree bool
	if err := m.place.pool.QueryRow(ctx, query["month_check"]).Scan(&agree); err != nil {
		return err
	}
	if !agree {
		return &CheckError{[]error{errors.New("the roll-ups are not what a recount of the attempts comes to")}}
	}
	m.report.Checks = append(m.report.Checks, "the roll-ups agree with a recount")
	var attempts, hours, days, held int64
	var attemptsMB, rollupsMB float64
	if err := m.place.pool.QueryRow(ctx, query["month_size"]).Scan(&attempts, &attemptsMB, &hours, &days, &held, &rollupsMB); err != nil {
		return err
	}
	per := func(took time.Duration) float64 { return float64(attempts) / took.Seconds() }
	m.report.Settings = append(m.report.Settings, Setting{"history", fmt.Sprintf("%d attempts, %.0f MB, %d held; roll-ups of %d hours and %d days (share, queue, user), %.0f MB; folded at %.0f attempts/s, summed by node at %.0f",
		attempts, attemptsMB, held, hours, days, rollupsMB, per(m.folded), per(m.rolled))})
	return nil
}

// askMonth times the reports by name, for a day, and what else is asked.
func (s *stage) askMonth(ctx context.Context, cfg MonthConfig) error {
	reader := report.NewReader(s.place.pool)
	for _, is := range report.List() {
		err := s.timed(is.Name, cfg.Rounds, func() error {
			_, err := reader.Run(ctx, is.Name, "", time.Now().Add(-24*time.Hour))
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Questions)) {
		err := s.timed(name, cfg.Rounds, func() error {
			_, err := s.place.pool.Exec(ctx, cfg.Questions[name])
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// timed asks a question so many times; what counts is the median.
func (s *stage) timed(name string, rounds int, ask func() error) error {
	took := make([]float64, rounds)
	for i := range took {
		began := time.Now()
		if err := ask(); err != nil {
			return err
		}
		took[i] = time.Since(began).Seconds()
	}
	one := newSeries(name, "s", took)
	s.figure(atMost("month", name, one.Median, slowest, one))
	return nil
}
