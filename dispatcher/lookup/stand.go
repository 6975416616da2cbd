package lookup

import "context"

// Stood is how a job stands, as of the tables.
type Stood struct {
	Task    int64
	State   string
	Attempt int // that it is at, or ended with
}

// Over says whether the job has ended.
func (s Stood) Over() bool { return finals[s.State] != "" }

// Stand is by job how it stands. Those that there are not are left out.
func (r *Reader) Stand(ctx context.Context, jobs []int64) (map[int64]Stood, error) {
	rows, err := r.rows(ctx, jobs, false)
	if err != nil {
		return nil, err
	}
	by := make(map[int64]Stood, len(rows))
	for _, row := range rows {
		by[row.ID] = Stood{row.TaskID, row.State, row.Attempt}
	}
	return by, nil
}
