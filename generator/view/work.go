package view

import (
	"context"

	"github.com/divvyhq/divvy/internal/pg"
)

// Work is how many jobs the tasks that are not over have, of those with the same share, label and processing type.
type Work struct {
	Share          string // path
	Label          string
	ProcessingType string
	Ready          int64
	Leased         int64
	Ended          int64
}

// Work sums the counts of tasks that are not over, which are at most a second old.
func (rd *Reader) Work(ctx context.Context) ([]Work, error) {
	all, err := pg.Collect[Work](ctx, rd.pool, query["work"])
	return all, pg.Named("work", err)
}
