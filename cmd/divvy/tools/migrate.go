package tools

import (
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/migrate"
	"github.com/divvyhq/divvy/cmd/divvy/offline"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/migrations"
)

// Migrate works on the schema by hand; serve does the same as 'up' at its start.
func Migrate(c *cli.CLI) *cobra.Command {
	var flags config.Flags
	group := &cobra.Command{Use: "migrate", Short: "Bring the database schema up or down by hand, and take a site to a new database"}
	flags.Bind(group.PersistentFlags())
	does := migrate.Streams{In: c.In, Out: c.Out, Err: c.Err}
	with := func(reach offline.Reaching, do func(context.Context, *pgxpool.Pool, string) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, args []string) error {
			cfg, err := flags.Load(os.Getenv)
			if err != nil {
				return fail.UsageError{Err: err}
			}
			first := strings.Join(args, "")
			return reach(cmd.Context(), c, cfg, func(ctx context.Context, db *pgxpool.Pool) error { return do(ctx, db, first) }, pg.Name("divvy migrate"))
		}
	}
	by := func(reach offline.Reaching, do func(context.Context, *pgxpool.Pool) error) func(*cobra.Command, []string) error {
		return with(reach, func(ctx context.Context, db *pgxpool.Pool, _ string) error { return do(ctx, db) })
	}
	on := func(do func(context.Context, *pgxpool.Pool) error) func(*cobra.Command, []string) error {
		return by(offline.Reach, do)
	}
	group.AddCommand(
		&cobra.Command{Use: "up", Short: "Apply all pending migrations", Args: cli.Takes(), RunE: by(offline.ReachNew, does.Up)},
		migrateDownCommand(on(does.Down)),
		&cobra.Command{Use: "export FILE", Short: "Write a site, its tokens and its history of usage to a file",
			Long: "Writes every version of the site, tokens (of their text there is only a hash) and the history of usage to FILE, a JSON value a line; - is standard output.\n" +
				"Databases of divvy 0.9 and 0.10, which this release cannot bring up, are read too: 'divvy migrate import' takes the file into a new one.\n" +
				"Tasks, jobs, decisions and the audit stay behind, so let the site run until its tasks are over and stop the daemons first.",
			Args: cli.Takes("the file to write"), RunE: with(offline.Reach, does.Export)},
		&cobra.Command{Use: "import FILE", Short: "Take what 'divvy migrate export' wrote into a new database",
			Long: "Brings the schema up and stores all of FILE, or, where anything is wrong with it, nothing; - is standard input.\n" +
				"The database must be new: without a site, tokens, tasks or running daemons. Shares and queues keep their ids, and ids go on behind those of the old database.",
			Args: cli.Takes("the file to read"), RunE: with(offline.ReachNew, does.Import)},
		&cobra.Command{Use: "restored", Short: "Say that the database was set back in a way that does not show: a snapshot of its disk, a failover that lost transactions",
			Long: "Has ids of jobs, tasks, claims and daemons go on behind all that may have been given since the newest thing that the database knows of.\n" +
				"Daemons do it by themselves where it shows: another server, another timeline, another database.",
			Args: cli.Takes(), RunE: on(does.Restored)},
		&cobra.Command{Use: "status", Short: "List migrations and when they were applied", Args: cli.Takes(), RunE: on(func(ctx context.Context, db *pgxpool.Pool) error { return migrateStatus(ctx, c, db) })},
	)
	return group
}

func migrateDownCommand(do func(*cobra.Command, []string) error) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{Use: "down", Short: "Take back the newest migration, with the data in its tables", Args: cli.Takes()}
	cmd.Flags().BoolVar(&yes, "yes", false, "really delete the data")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !yes {
			return fail.Usagef("this deletes data; repeat with --yes if you mean it")
		}
		return do(cmd, args)
	}
	return cmd
}

func migrateStatus(ctx context.Context, c *cli.CLI, db *pgxpool.Pool) error {
	steps, err := migrations.Status(ctx, db)
	if err != nil {
		return err
	}
	return c.Print(steps, func(w io.Writer) {
		g := show.New(w, ">version", "name", "applied")
		for _, s := range steps {
			at := "pending"
			if s.AppliedAt != nil {
				at = s.AppliedAt.UTC().Format(time.DateTime)
			}
			g.Row(s.Version, s.Name, at)
		}
		g.Flush()
	})
}
