package view

import (
	"context"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// newestIDs are tasks that a page may show, and where one that looks for more goes on.
type newestIDs struct {
	Live       []int64
	Over       []int64
	LiveLooked *int64
	OverLooked *int64
}

// newest lists tasks that are not over, then the others, each half the newest first. Of few that are wanted among many a page
// may be short, or empty, and have a next: no more than some thousand tasks of each half are looked at for it. A cursor is the
// id that the next page is below of; where it is among those that are over it is negative.
func (rd *Reader) newest(ctx context.Context, f Filter, limit int) (tasks []Task, next int64, err error) {
	live, over := int64(math.MaxInt64), int64(math.MaxInt64)
	switch {
	case f.After > 0:
		live = f.After
	case f.After < 0:
		live, over = 0, -f.After
	}
	most := limit + 1
	if f.Share != "" || f.Label != "" || len(f.State) > 0 {
		most = mostListed
	}
	args := pgx.StrictNamedArgs{"states": append([]string{}, f.State...), "share": f.Share, "label": f.Label, "live": live, "over": over, "most": most,
		"n": limit + 1}
	sql := query["newest"]
	if f.User != "" {
		sql, args["user"] = query["newest_of"], f.User
	}
	found, err := pg.Row[newestIDs](ctx, rd.pool, sql, args)
	if err != nil {
		return nil, 0, fmt.Errorf("newest tasks: %w", err)
	}
	ids, next := found.page(limit)
	if tasks, err = rd.listed(ctx, query["list_rows"], pgx.StrictNamedArgs{"ids": append([]int64{}, ids...)}); err == nil && len(tasks) == 0 && next == 0 {
		err = rd.KnownShare(ctx, f.Share)
	}
	return append([]Task{}, tasks...), next, err
}

// page chooses the tasks of a page, and says after which cursor the next one begins; 0: there is none.
func (n *newestIDs) page(limit int) (ids []int64, next int64) {
	switch {
	case len(n.Live) > limit:
		return n.Live[:limit], n.Live[limit-1]
	case n.LiveLooked != nil:
		return n.Live, *n.LiveLooked
	}
	ids = append(n.Live, n.Over...)
	switch {
	case len(ids) > limit && len(n.Live) == limit:
		return ids[:limit], ids[limit-1]
	case len(ids) > limit:
		return ids[:limit], -ids[limit-1]
	case n.OverLooked != nil:
		return ids, -*n.OverLooked
	}
	return ids, 0
}
