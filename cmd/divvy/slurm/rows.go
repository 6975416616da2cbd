package slurm

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/slurm"
)

// deep is what rows need beside the task and the states of its jobs; each costs a call.
type deep struct {
	spec     bool // requirements, folder, files
	attempts bool // node, times of a piece, usage
	split    bool // a row for each pending piece
}

// titles of columns that need more.
var (
	ofSpec     = []string{"TIME_LIMIT", "TIME_LEFT", "CPUS", "MIN_CPUS", "MIN_MEMORY", "WORK_DIR", "NCPUS", "ReqCPUS", "AllocCPUS", "ReqMem", "Timelimit", "TimelimitRaw", "WorkDir", "CPUTime", "CPUTimeRAW", "AllocNodes"}
	ofAttempts = []string{"TIME", "TIME_LEFT", "NODELIST", "EXEC_HOST", "NODELIST(REASON)", "START_TIME", "END_TIME", "Elapsed", "ElapsedRaw", "CPUTime", "CPUTimeRAW", "TotalCPU", "Start", "End", "NodeList", "MaxRSS"}
)

// needed says what the columns of a list need.
func needed(columns []slurm.Column) (d deep) {
	for _, c := range columns {
		d.spec = d.spec || slices.Contains(ofSpec, c.Title)
		d.attempts = d.attempts || slices.Contains(ofAttempts, c.Title)
	}
	return d
}

// atOnce is how many calls a command makes at the same time.
const atOnce = 8

// each calls do for all items, several at once, and keeps the order of what it returns.
func each[T, R any](ctx context.Context, items []T, do func(context.Context, T) (R, error)) ([]R, error) {
	out := make([]R, len(items))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i, item := range items {
		g.Go(func() (err error) {
			out[i], err = do(ctx, item)
			return err
		})
	}
	return out, g.Wait()
}

// rowsOf are the rows of tasks.
func (l *lister) rowsOf(ctx context.Context, tasks []wire.Task, d deep) ([]slurm.Row, error) {
	lists, err := each(ctx, tasks, func(ctx context.Context, t wire.Task) ([]slurm.Row, error) { return l.rows(ctx, t, d) })
	return slices.Concat(lists...), err
}

// rows are those of a task: one, or of an array those of its pieces.
func (l *lister) rows(ctx context.Context, t wire.Task, d deep) (rows []slurm.Row, err error) {
	if t.Spec == nil && d.spec {
		if t, err = l.client.Tasks().Get(ctx, t.ID); err != nil {
			return nil, err
		}
	}
	base := rowOf(t)
	if base.Array != nil {
		return l.pieces(ctx, t, base, d)
	}
	n := t.Jobs
	tried := n.Finished + n.Failed + n.Cancelled
	switch {
	case n.Total == 0, n.Leased+tried == 0, n.Finished == 1 && tried == 1 && n.Leased == 0 && !d.attempts, n.Leased > 0 && !d.attempts:
		base.State = stateOf(t)
		if t.EndedAt != nil {
			base.At.End = *t.EndedAt
		}
		return []slurm.Row{base}, nil
	}
	jobs, err := l.jobs(ctx, t.ID, true)
	if err != nil || len(jobs) == 0 {
		base.State = stateOf(t)
		return []slurm.Row{base}, err
	}
	return []slurm.Row{row(t, base, jobs[len(jobs)-1])}, nil
}

// jobs are all of a task, by id, each with its last attempt if that is wanted.
func (l *lister) jobs(ctx context.Context, task int64, attempts bool) (all []wire.JobRow, err error) {
	f := client.JobFilter{Task: task, Limit: 1000}
	if attempts {
		f.LastAttempt, f.Limit = true, 200
	}
	for j, err := range l.client.Jobs().All(ctx, f) {
		if err != nil {
			return nil, err
		}
		all = append(all, j)
	}
	return all, nil
}

// rowOf is what a row has of its task.
func rowOf(t wire.Task) slurm.Row {
	label := func(name string) string { return t.Attributes["labels."+name] }
	r := slurm.Row{
		Job: t.ID, Array: arrayOf(t), Piece: -1,
		Who: slurm.Who{Name: t.Name, User: t.User, Account: label(labelAccount), Partition: cmp.Or(label(labelPartition), slurm.Any), Comment: label(labelComment), Priority: t.Priority},
		At:  slurm.Times{Now: time.Now(), Submit: t.CreatedAt}, Size: slurm.Size{CPUs: 1}, Why: whyOf(t),
	}
	if t.StartedAt != nil {
		r.At.Start = *t.StartedAt
	}
	if s := t.Spec; s != nil {
		r.Size.CPUs, r.Size.MemoryMB = max(1, s.Requirements.Cores), s.Requirements.MemoryMB
		r.At.Limit = walltime(s.Requirements.Walltime)
		r.Who.Dir = s.Env["SLURM_SUBMIT_DIR"]
		if r.Who.Account == "" {
			r.Who.Account = s.WorkingGroup
		}
	}
	return r
}

// walltime reads a time of a task, such as 90s, 1h30m0s or 1d12h.
func walltime(text string) time.Duration {
	var days time.Duration
	if before, after, ok := strings.Cut(text, "d"); ok {
		d, err := time.ParseDuration(before + "h")
		if err != nil {
			return 0
		}
		if days, text = 24*d, after; text == "" {
			return days
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return days
	}
	return days + d
}

// stateOf is the state of a single job as far as its task says it.
func stateOf(t wire.Task) slurm.State {
	switch n := t.Jobs; {
	case n.Leased > 0 && (t.State == "aborting" || t.State == "aborted"):
		return slurm.Completing
	case n.Leased > 0:
		return slurm.Running
	case t.EndedAt == nil && n.Waiting+n.Ready > 0:
		return slurm.Pending
	case n.Finished > 0:
		return slurm.Completed
	case n.Cancelled > 0 || t.EndedAt != nil, t.State == "aborting":
		return slurm.Cancelled
	}
	return slurm.Pending
}

// whyOf is why a task is pending, in Slurm's words.
func whyOf(t wire.Task) string {
	switch {
	case t.State == "paused":
		return "JobHeldUser"
	case t.State == "throttled":
		return "QOSMaxJobsPerUserLimit"
	case t.State == "waiting" && t.Share != "":
		return "Dependency"
	case t.CannotRun != "":
		return "Resources"
	case strings.HasPrefix(t.Reason, "max_running "):
		return "JobArrayTaskLimit"
	}
	return "Priority"
}

// row is that of one job. What only an attempt says is left out where it has none.
func row(t wire.Task, r slurm.Row, j wire.JobRow) slurm.Row {
	r.Raw, r.At.Start = j.ID, time.Time{}
	if j.EndedAt != nil {
		r.At.End = *j.EndedAt
	}
	var last wire.Attempt
	if n := len(j.Attempts); n > 0 {
		last = j.Attempts[n-1]
	}
	switch j.State {
	case "waiting", "ready":
		r.State = slurm.Pending
		return r
	case "leased":
		if r.State = slurm.Running; t.State == "aborting" || t.State == "aborted" {
			r.State = slurm.Completing
		}
	case "finished":
		r.State = slurm.Completed
	case "cancelled":
		r.State, r.Ended.Signal = slurm.Cancelled, 15
	default:
		r.State, r.Ended.Code, r.Ended.Signal = slurm.FailedAs(slurm.Attempt{Outcome: last.State, Code: last.ExitCode, Message: last.Message})
	}
	r.Node, r.Size.UsedMB, r.Size.UsedCPUSeconds, r.At.Start = last.Node, last.Usage.MemoryMB, last.Usage.CPUSeconds, last.ClaimedAt
	if last.StartedAt != nil {
		r.At.Start = *last.StartedAt
	}
	return r
}

// pieces are the rows of an array: each piece that has begun, and the pending ones together.
func (l *lister) pieces(ctx context.Context, t wire.Task, base slurm.Row, d deep) (rows []slurm.Row, err error) {
	jobs, err := l.jobs(ctx, t.ID, d.attempts || t.Jobs.Failed > 0)
	if err != nil {
		return nil, err
	}
	base.At.Start = time.Time{} // that of the first piece
	last := map[int64]wire.JobRow{}
	for _, j := range jobs {
		last[j.Index] = j // a retry has a larger id
	}
	var pending []int64
	for i := range base.Array.Len() {
		r := base
		r.Piece, r.State = base.Array.ID(i), slurm.Pending
		if j, made := last[i]; made {
			r = row(t, r, j)
		} else if t.EndedAt != nil {
			r.State, r.At.End, r.Ended.Signal = slurm.Cancelled, *t.EndedAt, 15
		}
		if r.State == slurm.Pending && !d.split {
			pending = append(pending, r.Piece)
			continue
		}
		rows = append(rows, r)
	}
	if len(pending) > 0 {
		rest := base.Array.Of(pending)
		r := base
		r.State, r.Array = slurm.Pending, &rest
		rows = slices.Insert(rows, 0, r)
	}
	return rows, nil
}
