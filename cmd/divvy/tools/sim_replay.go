package tools

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/machine"
	log "github.com/divvyhq/divvy/dispatcher/replay"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/replay"
)

// replayFlags are those of 'divvy sim replay'.
type replayFlags struct {
	since, until, site string
	list               int
	config             config.Flags
}

func simReplayCommand(c *cli.CLI) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Make recorded decisions again: by the tree that was in force, or by another one",
		Long: `Make the decisions of the past again, on what each daemon knew when it made them.

Without --site each goes by the version that was in force then: all come out as they were, and the exit code is 1 if
one does not. With --site they go by that file: which slots would have gone to whom, and what each share would have held.
Nothing is written; the daemon may be running. docs/replay.md has what is kept, and what cannot be compared and why.`,
		Example: "  divvy sim replay --since 24h\n  divvy sim replay --since 7d --until 6d --site new.yml -o json",
		Args:    cli.Takes(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return simReplay(cmd.Context(), c, &f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.since, "since", "24h", "from so long ago, or from a moment such as 2026-03-01T00:00:00Z")
	fl.StringVar(&f.until, "until", "0s", "up to so long ago, or a moment")
	fl.IntVar(&f.list, "list", 20, "differences to list")
	fl.StringVar(&f.site, "site", "", "site file to decide by (default: the version that was in force)")
	_ = cmd.MarkFlagFilename("site", "yml", "yaml")
	var all pflag.FlagSet
	f.config.Bind(&all)
	for _, name := range []string{"config", "database", "database-direct", "state-dir", "local-wait", "gang-hold"} { // the rest is a daemon's
		fl.AddFlag(all.Lookup(name))
	}
	return cmd
}

func simReplay(ctx context.Context, c *cli.CLI, f *replayFlags) error {
	now := time.Now()
	since, err := ParseMoment("since", f.since, now)
	if err != nil {
		return err
	}
	until, err := ParseMoment("until", f.until, now)
	if err != nil {
		return err
	}
	switch {
	case !since.Before(until):
		return fail.Usagef("--since %s is not before --until %s", f.since, f.until)
	case f.list < 0:
		return fail.Usagef("--list %d is negative; 0 lists none", f.list)
	}
	cfg, err := f.config.Load(os.Getenv)
	if err != nil {
		return fail.UsageError{Err: err}
	}
	return WithRecords(ctx, c, cfg, func(ctx context.Context, db *pgxpool.Pool) error {
		store := site.NewStore(site.Config{Pool: db})
		var other *shares.Version
		if f.site != "" {
			if other, err = siteBeside(ctx, c, store, f.site); err != nil {
				return err
			}
		}
		r := log.Reader{Log: ledger.New(db), Store: log.NewStore(db), Config: machine.Config{LocalWait: cfg.Wait.Local, GangHold: cfg.Wait.Gang},
			Version: func(ctx context.Context, n int64) (shares.Version, error) {
				s, err := store.Get(ctx, n)
				if err != nil {
					return shares.Version{}, err
				}
				return s.Version(), nil
			}}
		score, err := r.Score(ctx, since, until, other, f.list)
		if err != nil {
			return err
		}
		if err := nameDifferences(ctx, store, &score); err != nil {
			return err
		}
		if err := printReplay(c, score, other != nil); err != nil {
			return err
		}
		if other == nil && score.Differences > 0 {
			return fail.ErrSilent
		}
		return nil
	})
}

// siteBeside reads a site file as what would have been in force: shares and queues are those that have the same path
// or name now; others are new, and had no jobs.
func siteBeside(ctx context.Context, c *cli.CLI, store *site.Store, file string) (*shares.Version, error) {
	src, name, err := cli.ReadFile(c, file)
	if err != nil {
		return nil, err
	}
	parsed, err := site.Parse(name, src)
	if err != nil {
		return nil, err
	}
	now, err := store.Load(ctx)
	if err != nil {
		return nil, err
	}
	v := parsed.Version()
	unknown := shares.ShareID(0)
	v.Tree.SetIDs(func(path string) shares.ShareID {
		if i, ok := now.Tree.ByPath(path); ok {
			return now.Tree.Nodes[i].ID
		}
		unknown--
		return unknown
	})
	for i := range v.Queues {
		v.Queues[i].ID = shares.QueueID(-i - 1)
		for _, q := range now.Queues {
			if q.Name == v.Queues[i].Name {
				v.Queues[i].ID = q.ID
			}
		}
	}
	return &v, nil
}

// nameDifferences fills in the names of what differences are about; those that are in force no more keep their number.
func nameDifferences(ctx context.Context, store *site.Store, s *replay.Score) error {
	now, err := store.Load(ctx)
	if err != nil {
		return err
	}
	for i := range s.First {
		d := &s.First[i]
		d.Share, d.Queue = fmt.Sprintf("#%d", d.ShareID), fmt.Sprintf("#%d", d.QueueID)
		if node, ok := now.Tree.ByID(d.ShareID); ok {
			d.Share = now.Tree.Nodes[node].Path
		}
		for _, q := range now.Queues {
			if q.ID == d.QueueID {
				d.Queue = q.Name
			}
		}
	}
	return nil
}

// ParseMoment reads a time ago such as 24h or 7d, or a moment.
func ParseMoment(flag, s string, now time.Time) (time.Time, error) {
	if d, err := shares.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-time.Duration(d)), nil
	}
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return at, nil
	}
	return time.Time{}, fail.Usagef("--%s: %q is neither a time such as 90s, 24h or 7d nor a moment such as 2026-03-01T00:00:00Z", flag, s)
}
