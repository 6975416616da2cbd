package fold

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/internal/pg"
)

// mostUsers bounds what a Folder remembers of tasks.
const mostUsers = 100_000

// know reads what a step needs, and takes the leases out that end in it.
func (f *Folder) know(ctx context.Context, tx pgx.Tx, batches []entry.Batch) (k Known, err error) {
	n := NeedsOf(batches)
	k.Leases = map[int64]Lease{}
	lease := func(r *row) {
		l := r.lease()
		k.Leases[l.Job] = l
	}
	idle := func(r *row) { k.Ranges = append(k.Ranges, r.idle()) }
	if len(n.EndedJobs) > 0 {
		err = f.read(ctx, tx, "end_leases", pg.Args{"jobs": n.EndedJobs, "attempts": n.EndedAttempts}, lease)
	}
	if err == nil && len(n.Jobs) > 0 {
		err = f.read(ctx, tx, "leases", pg.Args{"jobs": n.Jobs}, lease)
	}
	if err == nil && len(n.Lows) > 0 {
		err = f.read(ctx, tx, "ranges", pg.Args{"lows": n.Lows, "highs": n.Highs}, idle)
	}
	if err == nil && len(n.All) > 0 {
		err = f.read(ctx, tx, "ranges_of", pg.Args{"tasks": n.All}, idle)
	}
	if err == nil {
		k.Tasks, err = f.knowTasks(ctx, tx, n, k.Leases)
	}
	if err == nil {
		k.Claims, err = f.knowClaims(ctx, tx, n.Claims)
	}
	if err == nil {
		err = f.knowMoved(ctx, tx, n, &k)
	}
	if err != nil {
		return k, err
	}
	tasks := n.Tasks
	for _, l := range k.Leases {
		tasks = append(tasks, l.Task)
		n.Shapes = append(n.Shapes, l.Shape)
	}
	k.Users, k.Cores = f.users, f.cores
	if err := f.knowUsers(ctx, tx, tasks); err != nil {
		return k, err
	}
	return k, f.knowCores(ctx, tx, n.Shapes)
}

func (f *Folder) read(ctx context.Context, tx pgx.Tx, name string, args pg.Args, fn func(*row)) error {
	if args == nil {
		return readAll(ctx, tx, name, fn)
	}
	rows, err := tx.Query(ctx, query[name], binaryRows, args)
	if err != nil {
		return err
	}
	return each(rows, fn)
}

// knowUsers adds the users of tasks to those that are known. A task has one for ever.
func (f *Folder) knowUsers(ctx context.Context, tx pgx.Tx, tasks []int64) error {
	if len(f.users) > mostUsers {
		clear(f.users)
	}
	missing := missing(f.users, tasks)
	if len(missing) == 0 {
		return nil
	}
	return f.read(ctx, tx, "users", pg.Args{"tasks": missing}, func(r *row) {
		task := r.int64()
		f.users[task] = r.text()
	})
}

// knowCores adds the cores of shapes to those that are known. A shape never changes.
func (f *Folder) knowCores(ctx context.Context, tx pgx.Tx, shapes []int32) error {
	keys := []int64{}
	for _, shape := range missing(f.cores, shapes) {
		keys = append(keys, int64(shape))
	}
	if len(keys) == 0 {
		return nil
	}
	return f.read(ctx, tx, "cores", pg.Args{"shapes": keys}, func(r *row) {
		shape := r.int32()
		f.cores[shape] = r.int64()
	})
}

// missing are the keys that a map lacks.
func missing[K comparable, V any](known map[K]V, keys []K) (lacking []K) {
	seen := map[K]bool{}
	for _, k := range keys {
		if _, ok := known[k]; !ok && !seen[k] {
			seen[k] = true
			lacking = append(lacking, k)
		}
	}
	return lacking
}
