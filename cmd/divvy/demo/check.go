package demo

import (
	"context"
	"embed"
	"fmt"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var statements = pg.MustLoad(sqlFiles)

// pool is that of the site's only queue.
const pool = "default"

type deliveredRow struct {
	Share      string
	Delivered  float64
	MeanJob    float64
	LongestJob float64
	Jobs       int64
	Failed     int64
}

type hourlyRow struct {
	Share       string
	SlotSeconds float64
	Jobs        int64
}

type historyRow struct {
	Share           string
	T, Target, Held float64
}

// check recomputes everything from the report views and the files, and judges.
func (r *runner) check(ctx context.Context) error {
	conn, err := openReader(ctx, r.Read)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	history, err := query[historyRow](ctx, conn, "history", r.window(pgx.StrictNamedArgs{"pool": pool}))
	if err != nil {
		return err
	}
	if err := r.readRows(ctx, conn, history); err != nil {
		return err
	}
	r.series(history)
	var jobs int64
	for _, row := range r.report.Rows {
		jobs += row.Jobs
	}
	r.report.verifyOutputs(jobs)
	r.report.judge()
	return nil
}

// openReader connects with the role of report readers, which may only read reports.
func openReader(ctx context.Context, dsn string) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("report connection: %w", err)
	}
	cfg.RuntimeParams["application_name"] = "divvy demo"
	cfg.RuntimeParams["default_transaction_read_only"] = "on"
	cfg.RuntimeParams["role"] = "divvy_reader"
	conn, err := pgx.ConnectConfig(ctx, cfg)
	return conn, pg.Named("report connection", err)
}

// window are the arguments that all statements share.
func (r *runner) window(more pgx.StrictNamedArgs) pgx.StrictNamedArgs {
	args := pgx.StrictNamedArgs{"shares": Leaves, "since": r.report.From, "until": r.report.To}
	for k, v := range more {
		args[k] = v
	}
	return args
}

// readRows fills in the report's rows but for the verdict.
func (r *runner) readRows(ctx context.Context, conn *pgx.Conn, history []historyRow) error {
	delivered, err := query[deliveredRow](ctx, conn, "delivered", r.window(nil))
	if err != nil {
		return err
	}
	spans, err := query[spanRow](ctx, conn, "spans", r.window(nil))
	if err != nil {
		return err
	}
	promised := dues(history, spans, r.report.To.Sub(r.report.From).Seconds())
	hourly, err := query[hourlyRow](ctx, conn, "hourly", pgx.StrictNamedArgs{"shares": Leaves})
	if err != nil {
		return err
	}
	for _, leaf := range Leaves {
		row := Row{Share: leaf}
		i := slices.IndexFunc(delivered, func(d deliveredRow) bool { return d.Share == leaf })
		p, known := promised[leaf]
		if i < 0 || !known {
			r.report.problem("%s is missing in the report views", leaf)
			continue
		}
		d := delivered[i]
		row.Delivered, row.MeanJob, row.Jobs, row.Failed = d.Delivered, d.MeanJob, d.Jobs, d.Failed
		row.Target, row.Due, row.Moved = p.target, p.part, p.high-p.low
		r.report.Rows = append(r.report.Rows, row)
		r.report.LongestJob = max(r.report.LongestJob, d.LongestJob)
		r.compareHourly(d, hourly)
	}
	return nil
}

// compareHourly holds the attempts against what accounting made of them.
func (r *runner) compareHourly(d deliveredRow, hourly []hourlyRow) {
	all := d.MeanJob * float64(d.Jobs+d.Failed)
	i := slices.IndexFunc(hourly, func(h hourlyRow) bool { return h.Share == d.Share })
	if i < 0 || math.Abs(hourly[i].SlotSeconds-all) > 0.01 || hourly[i].Jobs != d.Jobs+d.Failed {
		r.report.problem("%s: usage by the hour does not add up to its attempts, %.2f slot-seconds", d.Share, all)
	}
}

// series makes the curves of the plot.
func (r *runner) series(history []historyRow) {
	for _, leaf := range Leaves {
		s := Series{Share: leaf, Points: []Point{}}
		for _, h := range history {
			if h.Share != leaf {
				continue
			}
			if h.T <= 0 { // of what was before the window only the last counts: it holds at its start
				s.Points = s.Points[:0]
			}
			s.Points = append(s.Points, Point{T: max(h.T, 0), Target: h.Target, Held: h.Held})
		}
		r.report.Series = append(r.report.Series, s)
	}
}

func query[T any](ctx context.Context, conn *pgx.Conn, name string, args pgx.StrictNamedArgs) ([]T, error) {
	out, err := pg.Collect[T](ctx, conn, statements[name], args)
	if err != nil {
		return nil, fmt.Errorf("report view, %w", err)
	}
	return out, nil
}
