package slurm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/slurm"
)

// squeue lists jobs that are not over.
func squeue(ctx context.Context, c *command) error {
	g := c.given
	format := slurm.QueueFormat
	if g.Has("format") {
		format = g.Get("format")
	}
	columns, err := slurm.ParseQueueFormat(format)
	if err != nil {
		return err
	}
	f := filter{users: words(g.Get("user")), names: words(g.Get("name")), partitions: words(g.Get("partition"))}
	if g.Has("me") {
		f.users = []string{caller()}
	}
	states, all, err := slurm.ParseStates(g.Get("states"))
	if err != nil {
		return err
	}
	if f.states = states; len(states) == 0 && !all {
		f.states = []slurm.State{slurm.Pending, slurm.Running, slurm.Suspended, slurm.Completing}
	}
	d := needed(columns)
	d.split = g.Has("array")
	var tasks []wire.Task
	if list := strings.Join(append([]string{g.Get("jobs")}, g.Args...), ","); strings.Trim(list, ",") != "" {
		if f.ids, err = slurm.ParseIDs(list); err != nil {
			return fmt.Errorf("slurm_load_jobs error: %w", errNoJob)
		}
		var unknown int
		if tasks, unknown, err = c.byID(ctx, f.ids); err == nil && len(f.ids) == 1 && unknown == 1 {
			fmt.Fprintf(c.Err, "slurm_load_jobs error: %v\n", errNoJob)
			return exit(1)
		}
	} else {
		tasks, err = c.live(ctx, f, all || len(states) > 0)
	}
	if err != nil {
		return fmt.Errorf("slurm_load_jobs error: %w", err)
	}
	rows, err := c.rowsOf(ctx, tasks, d)
	if err != nil {
		return fmt.Errorf("slurm_load_jobs error: %w", err)
	}
	rows = f.some(rows)
	slurm.WriteQueue(c.Out, columns, fresh(rows), !g.Has("noheader"))
	return nil
}

// fresh leaves out what ended longer ago than squeue remembers.
func fresh(rows []slurm.Row) []slurm.Row {
	kept := rows[:0]
	for _, r := range rows {
		if !r.State.Over() || r.At.End.IsZero() || time.Since(r.At.End) < minJobAge {
			kept = append(kept, r)
		}
	}
	return kept
}

// sacct lists jobs, those that have ended too.
func sacct(ctx context.Context, c *command) error {
	g := c.given
	format := slurm.AccountFormat
	if g.Has("format") {
		format = g.Get("format")
	}
	columns, err := slurm.ParseAccountFormat(format)
	if err != nil {
		return err
	}
	f := filter{users: words(g.Get("user")), names: words(g.Get("name")), partitions: words(g.Get("partition"))}
	if f.states, _, err = slurm.ParseStates(g.Get("state")); err != nil {
		return err
	}
	var tasks []wire.Task
	if g.Has("jobs") {
		if f.ids, err = slurm.ParseIDs(g.Get("jobs")); err != nil {
			return err
		}
		tasks, _, err = c.byID(ctx, f.ids)
	} else {
		tasks, err = c.since(ctx, f)
	}
	if err != nil {
		return err
	}
	rows, err := c.rowsOf(ctx, tasks, needed(columns))
	if err != nil {
		return err
	}
	slurm.WriteAccount(c.Out, columns, f.some(rows), c.style())
	return nil
}

// style is that of the options of sacct, sacctmgr and sshare.
func (c *command) style() slurm.Style {
	s := slurm.Style{Header: !c.given.Has("noheader"), Behind: c.given.Has("parsable") && !c.given.Has("parsable2")}
	if c.given.Has("parsable") || c.given.Has("parsable2") {
		if s.Delimiter = c.given.Get("delimiter"); s.Delimiter == "" {
			s.Delimiter = "|"
		}
	}
	return s
}

// since are the tasks of the time that sacct is asked about: without options those of today, of the caller.
func (c *command) since(ctx context.Context, f filter) ([]wire.Task, error) {
	now := time.Now()
	begin, end := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location()), now
	var err error
	if text := c.given.Get("starttime"); text != "" {
		if begin, err = slurm.ParseMoment(text, now); err != nil {
			return nil, err
		}
	}
	if text := c.given.Get("endtime"); text != "" {
		if end, err = slurm.ParseMoment(text, now); err != nil {
			return nil, err
		}
	}
	if end.Before(begin) {
		return nil, errors.New("Start time requested is after end time")
	}
	if len(f.users) == 0 && !c.given.Has("allusers") {
		f.users = []string{caller()}
	}
	return c.tasks(ctx, f, func(t wire.Task) bool {
		return !t.CreatedAt.After(end) && (t.EndedAt == nil || !t.EndedAt.Before(begin))
	})
}
