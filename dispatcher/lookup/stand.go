package lookup

import "context"

// Stand is by job how it stands, as of the tables, without its lease. Those that there are not are left out.
func (r *Reader) Stand(ctx context.Context, jobs []int64) (map[int64]Holding, error) {
	rows, err := r.rows(ctx, jobs, false)
	if err != nil {
		return nil, err
	}
	by := make(map[int64]Holding, len(rows))
	for _, row := range rows {
		by[row.ID] = Holding{JobState: row.State, Attempt: row.Attempt}
	}
	return by, nil
}
