package series

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Sampler writes samples and rates hours. Any number of daemons may have one.
type Sampler struct {
	DB       *pgxpool.Pool
	Leads    func() bool // whether this daemon leads
	Standing func() (st explain.Standing, ok bool)
}

// Sample writes down the standing of every share, for plots and to compare what was promised with what was given. It returns how many rows
// it wrote: none when another daemon leads, or when this one does not know how shares stand.
func (s *Sampler) Sample(ctx context.Context) (n int, err error) {
	if !s.Leads() {
		return 0, nil
	}
	st, ok := s.Standing()
	if !ok {
		return 0, nil
	}
	tag, err := s.DB.Exec(ctx, query["sample"], rowsOf(st))
	return int(tag.RowsAffected()), pg.Named("sample", err)
}

// rowsOf are the arguments of sample.sql.
func rowsOf(st explain.Standing) pg.Args {
	var pools []string
	var ids []int32
	var targets, deserved []float64
	var lent, borrowed []*float64
	var held, ready []int64
	for _, p := range st.Pools {
		for _, s := range p.Shares {
			pools, ids, targets = append(pools, p.Pool), append(ids, int32(s.ID)), append(targets, s.Target)
			deserved, lent, borrowed = append(deserved, s.Deserved), append(lent, some(s.Lent)), append(borrowed, some(s.Borrowed))
			held, ready = append(held, int64(math.Round(s.Held*1000))), append(ready, s.Ready)
		}
	}
	return pg.Args{"pools": pools, "shares": ids, "targets": targets, "held": held, "ready": ready,
		"deserved": deserved, "lent": lent, "borrowed": borrowed}
}

// some is a figure, or nil for none, which takes no place in a row. Less than a thousandth of a unit is rounding.
func some(units float64) *float64 {
	if units < 0.001 {
		return nil
	}
	return &units
}

// rateHours bounds the hours of one Rate.
const rateHours = 48

// Rate adds the hours that are over to fairness_hours, and returns how many rows it wrote.
func (s *Sampler) Rate(ctx context.Context) (n int, err error) {
	for range rateHours {
		rated, err := s.rate(ctx)
		if err != nil {
			return n, fmt.Errorf("rate: %w", err)
		}
		if rated == 0 {
			break
		}
		n += rated
	}
	return n, nil
}

// rate is Rate for the next hour; 0: none is over, or another daemon is at it.
func (s *Sampler) rate(ctx context.Context) (n int, err error) {
	err = pg.InTx(ctx, s.DB, func(tx pgx.Tx) error {
		n = 0
		if ok, err := pg.TryLock(ctx, tx, pg.LockAccount, 1); err != nil || !ok {
			return err
		}
		var hour time.Time
		err := tx.QueryRow(ctx, query["rate_next"]).Scan(&hour)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		return tx.QueryRow(ctx, query["rate"], pg.Args{"hour": hour}).Scan(&n)
	})
	return n, err
}

// Wait adds to wait_hours and user_wait_hours how long jobs waited whose first attempt was folded since the last call, and returns how many
// they were; none while another daemon is at it. The fold does not wait for it.
func (s *Sampler) Wait(ctx context.Context) (n int, err error) {
	if err := s.DB.QueryRow(ctx, query["add_waits"]).Scan(&n); err != nil {
		return 0, fmt.Errorf("waits: %w", err)
	}
	return n, nil
}

// Request asks how a share stood over some time.
type Request struct {
	Share shares.ShareID
	Pool  string
	Span  time.Duration // until now, at most as long as samples are kept
	Step  time.Duration // one sample, the first, of each such part of it; 0: all samples
}

// ShareSeries is how a share stood over some time, in one pool.
type ShareSeries struct {
	Share  shares.ShareID `json:"share_id"`
	Pool   string         `json:"pool"`
	Points []SharePoint   `json:"points"`
}

// SharePoint is one sample of a share.
type SharePoint struct {
	At     time.Time `json:"at"`
	Target float64   `json:"target"`
	Held   float64   `json:"held"`
	Ready  int64     `json:"ready"`
}

// Read returns the samples that Sample wrote, oldest first. With a Step it reads one row a step by the index, and not
// all that lie between: samples of one share are apart from each other by those of all others.
func Read(ctx context.Context, db *pgxpool.Pool, r Request) (s ShareSeries, err error) {
	s = ShareSeries{Share: r.Share, Pool: r.Pool, Points: []SharePoint{}}
	args := pg.Args{"share": r.Share, "pool": r.Pool, "span_s": r.Span.Seconds()}
	name := "all_points"
	if r.Step > 0 {
		name, args["step_s"] = "first_points", r.Step.Seconds()
	}
	rows, err := db.Query(ctx, query[name], args)
	if err == nil {
		s.Points, err = pgx.AppendRows(s.Points, rows, pgx.RowToStructByName[SharePoint])
	}
	if err != nil {
		return ShareSeries{}, fmt.Errorf("series of a share: %w", err)
	}
	return s, nil
}
