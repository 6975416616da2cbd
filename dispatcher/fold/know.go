package fold

import (
	"cmp"
	"context"
	"slices"

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
	err = cmp.Or(
		askOf(ctx, tx, "leases", n.Jobs, lease),
		askOf(ctx, tx, "ranges_of", n.All, idle))
	if err == nil && len(n.Ended) > 0 {
		err = ask(ctx, tx, "end_leases", pg.Columns(n.Ended), lease)
	}
	if err == nil && len(n.Spans) > 0 {
		err = ask(ctx, tx, "ranges", pg.Columns(n.Spans), idle)
	}
	if err == nil {
		k.Tasks, err = knowTasks(ctx, tx, n, k.Leases)
	}
	if err == nil {
		k.Claims, err = f.knowClaims(ctx, tx, n.Claims)
	}
	if err == nil {
		err = knowMoved(ctx, tx, n, &k)
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
	return k, cmp.Or(f.knowUsers(ctx, tx, tasks), f.knowCores(ctx, tx, n.Shapes))
}

// knowUsers adds the users of tasks to those that are known. A task has one for ever.
func (f *Folder) knowUsers(ctx context.Context, tx pgx.Tx, tasks []int64) error {
	if len(f.users) > mostUsers {
		clear(f.users)
	}
	return askOf(ctx, tx, "users", missing(f.users, tasks), func(r *row) {
		task := r.int64()
		f.users[task] = r.text()
	})
}

// knowCores adds the cores of shapes to those that are known. A shape never changes.
func (f *Folder) knowCores(ctx context.Context, tx pgx.Tx, shapes []int32) error {
	keys := list(missing(f.cores, shapes), func(shape int32) int64 { return int64(shape) })
	return askOf(ctx, tx, "cores", keys, func(r *row) {
		shape := r.int32()
		f.cores[shape] = r.int64()
	})
}

// missing are the keys that a map lacks.
func missing[K cmp.Ordered, V any](known map[K]V, keys []K) []K {
	lacking := slices.DeleteFunc(slices.Clone(keys), func(k K) bool { _, ok := known[k]; return ok })
	slices.Sort(lacking)
	return slices.Compact(lacking)
}
