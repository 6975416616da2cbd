package view

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

// liveShare is the work of one share.
type liveShare struct {
	ShareID shares.ShareID
	Tasks   int64
	Waiting int64
	Ready   int64
	Leased  int64
	Pieces  int64
}

// Live counts the work of each share that has any: tasks that are not over, their jobs as of the last Settle, and
// the pieces that are to become jobs. A share that a task named counts the task, and the one that its jobs go to counts all.
func Live(ctx context.Context, tx pgx.Tx) (map[shares.ShareID]site.Live, error) {
	all, err := pg.Collect[liveShare](ctx, tx, query["live"])
	if err != nil {
		return nil, fmt.Errorf("live work: %w", err)
	}
	live := make(map[shares.ShareID]site.Live, len(all))
	for _, l := range all {
		live[l.ShareID] = site.Live{Tasks: l.Tasks, Waiting: l.Waiting, Ready: l.Ready, Leased: l.Leased, Pieces: l.Pieces}
	}
	return live, nil
}
