package dispatcher

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// In a share that gives jobs by fair turn among users the user is part of the shape, and so of windows and of what is held by
// the ledger: what a user holds is exact on every daemon without a count of its own. Elsewhere shapes name nobody, however many
// users there are.

// ofUser is the shape of a user's jobs, or with no user that of anybody's.
func ofUser(ctx context.Context, tx pgx.Tx, shape int32, user string) (int32, error) {
	ids, err := userShapes(ctx, tx, []int32{shape}, []*string{named(user)})
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

func named(user string) *string {
	if user == "" {
		return nil
	}
	return &user
}

// userShapes are the shapes of jobs of users, nil being anybody, one for each shape.
func userShapes(ctx context.Context, tx pgx.Tx, of []int32, users []*string) ([]int32, error) {
	rows, err := tx.Query(ctx, query["user_shapes"], pgx.StrictNamedArgs{"shapes": of, "users": users})
	if err != nil {
		return nil, fmt.Errorf("shapes of users: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	if err == nil && len(ids) != len(of) {
		err = fmt.Errorf("one of the shapes %v does not exist", of)
	}
	if err != nil {
		return nil, fmt.Errorf("shapes of users: %w", err)
	}
	return ids, nil
}

type taskUser struct {
	ID       int64
	UserName string
}

// usersOf says whose tasks these are.
func usersOf(ctx context.Context, tx pgx.Tx, tasks []int64) (map[int64]string, error) {
	rows, err := collect[taskUser](ctx, tx, "task_users", pgx.StrictNamedArgs{"tasks": tasks})
	if err != nil {
		return nil, err
	}
	users := make(map[int64]string, len(rows))
	for _, r := range rows {
		users[r.ID] = r.UserName
	}
	return users, nil
}

// byShare are those of new jobs whose shapes may have to be others in their shares.
type byShare struct {
	fair    []int32 // shares that give jobs by fair turn among users
	ofUsers []int32 // shapes of users
}

// shaped gives new jobs the shapes that they have in their shares; where no share and no shape has to do with users, as nearly
// everywhere, they are as they were.
func (b byShare) shaped(ctx context.Context, tx pgx.Tx, jobs []NewJob) ([]NewJob, error) {
	if len(b.fair) == 0 && len(b.ofUsers) == 0 {
		return jobs, nil
	}
	type kind struct {
		share shares.ShareID
		shape int32
		task  int64
	}
	at := map[kind]int{}
	var kinds []kind
	var tasks []int64
	for _, j := range jobs {
		k := kind{j.Share, j.Shape, j.Task}
		if _, seen := at[k]; !seen {
			at[k], kinds, tasks = len(kinds), append(kinds, k), append(tasks, j.Task)
		}
	}
	users, err := usersOf(ctx, tx, tasks)
	if err != nil {
		return nil, err
	}
	from, names := make([]int32, len(kinds)), make([]*string, len(kinds))
	for i, k := range kinds {
		from[i] = k.shape
		if slices.Contains(b.fair, int32(k.share)) {
			names[i] = named(users[k.task])
		}
	}
	to, err := userShapes(ctx, tx, from, names)
	if err != nil {
		return nil, err
	}
	jobs = slices.Clone(jobs)
	for i := range jobs {
		j := &jobs[i]
		j.Shape = to[at[kind{j.Share, j.Shape, j.Task}]]
	}
	return jobs, nil
}
