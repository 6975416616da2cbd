package bench

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

	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/ledger"
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

// RunMonth generates a month of ended attempts in a new database, has them added to the roll-ups, compares these with a recount,
// and times every report for the last day.
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
	if err := s.fillMonth(ctx, cfg.Month); err != nil {
		return nil, err
	}
	past, err := s.accountMonth(ctx)
	if err != nil {
		return nil, err
	}
	s.say("%.0f a second by the hour; generating %d of yesterday", past, cfg.Yesterday)
	if err := s.fillDay(ctx, 1, cfg.Yesterday, true); err != nil {
		return nil, err
	}
	byNumber, err := s.accountMonth(ctx)
	if err != nil {
		return nil, err
	}
	s.say("%.0f a second as they end; VACUUM ANALYZE, recount", byNumber)
	if err := s.checkMonth(ctx, past, byNumber); err != nil {
		return nil, err
	}
	if err := s.askMonth(ctx, cfg); err != nil {
		return nil, err
	}
	s.report.TookS = time.Since(s.report.Began).Seconds()
	return s.report, nil
}

// fillMonth writes the site and the attempts of all days but the last, as from before there were roll-ups.
func (s *stage) fillMonth(ctx context.Context, m Month) error {
	s.say("generating %d attempts of %d days", m.Jobs, m.Days-1)
	for _, step := range []struct {
		verb string
		args pgx.StrictNamedArgs
	}{{"month_site", pgx.StrictNamedArgs{"days": m.Days}}, {"month_rest", pgx.StrictNamedArgs{"days": m.Days}},
		{"history_days", pgx.StrictNamedArgs{"parent": "attempts", "days": m.Days}}, {"month_past", pgx.StrictNamedArgs{"days": m.Days}}} {
		if _, err := s.place.pool.Exec(ctx, query[step.verb], step.args); err != nil {
			return fmt.Errorf("%s: %w", step.verb, err)
		}
	}
	if _, err := s.place.pool.Exec(ctx, "ANALYZE"); err != nil {
		return err
	}
	for back := m.Days; back > 1; back-- {
		if err := s.fillDay(ctx, back, m.Jobs/(m.Days-1), false); err != nil {
			return err
		}
	}
	return nil
}

// fillDay writes the attempts of one day; numbered: as they end now.
func (s *stage) fillDay(ctx context.Context, back, n int, numbered bool) error {
	_, err := s.place.pool.Exec(ctx, query["month_day"], pgx.StrictNamedArgs{"back": back, "n": n, "first": int64(back) * int64(n), "numbered": numbered})
	if err != nil {
		return fmt.Errorf("month_day: %w", err)
	}
	return nil
}

// accountMonth has all that there is added to the roll-ups, and returns how many attempts a second.
func (s *stage) accountMonth(ctx context.Context) (rate float64, err error) {
	s.say("adding them to the roll-ups")
	began := time.Now()
	if err := fold.New(s.place.pool, ledger.New(s.place.pool), nil).RollNodes(ctx); err != nil {
		return 0, err
	}
	var n int64
	if err := s.place.pool.QueryRow(ctx, query["month_attempts"]).Scan(&n); err != nil {
		return 0, err
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

// checkMonth compares the roll-ups with a recount, and writes down how large all is.
func (s *stage) checkMonth(ctx context.Context, past, byNumber float64) error {
	if _, err := s.place.pool.Exec(ctx, "VACUUM ANALYZE"); err != nil {
		return err
	}
	var agree bool
	if err := s.place.pool.QueryRow(ctx, query["month_check"]).Scan(&agree); err != nil {
		return err
	}
	if !agree {
		return &CheckError{[]error{errors.New("the roll-ups are not what a recount of the attempts comes to")}}
	}
	s.report.Checks = append(s.report.Checks, "the roll-ups agree with a recount")
	var attempts, hours, days int64
	var attemptsMB, rollupsMB float64
	if err := s.place.pool.QueryRow(ctx, query["month_size"]).Scan(&attempts, &attemptsMB, &hours, &days, &rollupsMB); err != nil {
		return err
	}
	s.report.Settings = append(s.report.Settings, Setting{"history", fmt.Sprintf("%d attempts, %.0f MB; roll-ups of %d hours and %d days (share, queue, user), %.0f MB; added at %.0f attempts/s by the hour, at %.0f as they end",
		attempts, attemptsMB, hours, days, rollupsMB, past, byNumber)})
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
