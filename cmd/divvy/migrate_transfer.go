package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/internal/transfer"
	"github.com/divvyhq/divvy/migrations"
)

func migrateExportCommand(c *cli, by func(reaching, func(context.Context, *pgxpool.Pool) error) func(*cobra.Command, []string) error) *cobra.Command {
	cmd := &cobra.Command{Use: "export FILE", Short: "Write a site, its tokens and its history of usage to a file",
		Long: "Writes every version of the site, tokens (of their text there is only a hash) and the history of usage to FILE, a JSON value a line; - is standard output.\n" +
			"Databases of divvy 0.9 and 0.10, which this release cannot bring up, are read too: 'divvy migrate import' takes the file into a new one.\n" +
			"Tasks, jobs, decisions and the audit stay behind, so let the site run until its tasks are over and stop the daemons first.",
		Args: takes("the file to write")}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return by(c.withDatabase, func(ctx context.Context, db *pgxpool.Pool) error { return c.migrateExport(ctx, db, args[0]) })(cmd, args)
	}
	return cmd
}

func migrateImportCommand(c *cli, by func(reaching, func(context.Context, *pgxpool.Pool) error) func(*cobra.Command, []string) error) *cobra.Command {
	cmd := &cobra.Command{Use: "import FILE", Short: "Take what 'divvy migrate export' wrote into a new database",
		Long: "Brings the schema up and stores all of FILE, or, where anything is wrong with it, nothing; - is standard input.\n" +
			"The database must be new: without a site, tokens, tasks or running daemons. Shares and queues keep their ids, and ids go on behind those of the old database.",
		Args: takes("the file to read")}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return by(c.withNewDatabase, func(ctx context.Context, db *pgxpool.Pool) error { return c.migrateImport(ctx, db, args[0]) })(cmd, args)
	}
	return cmd
}

// migrateExport writes to a new file, which nobody else may read: hashes of tokens are in it.
func (c *cli) migrateExport(ctx context.Context, db *pgxpool.Pool, file string) error {
	if file == "-" {
		return c.exportTo(ctx, db, c.out, c.err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(c.exportTo(ctx, db, f, c.out), f.Close()); err != nil {
		_ = os.Remove(file) // half of it is of no use
		return err
	}
	return nil
}

func (c *cli) exportTo(ctx context.Context, db *pgxpool.Pool, w, said io.Writer) error {
	done, err := transfer.Export(ctx, db, w)
	if err != nil {
		return err
	}
	fmt.Fprintf(said, "exported %s\n", done.Records)
	if done.Tasks > 0 || done.Leases > 0 {
		fmt.Fprintf(c.err, "warning: %s not over, %s: they stay behind, and what they use from now on is not in the file. Let them end, and export again.\n",
			plural(done.Tasks, "task"), plural(done.Leases, "lease"))
	}
	return nil
}

func (c *cli) migrateImport(ctx context.Context, db *pgxpool.Pool, file string) error {
	r, name := c.in, "stdin"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		r, name = io.Reader(f), file
	}
	if _, err := migrations.Up(ctx, db); err != nil {
		return err
	}
	done, err := transfer.Import(ctx, db, r, name)
	if errors.Is(err, transfer.ErrOccupied) {
		return hintf(err, "Make another database, or stop the daemons of this one in order where it is one of these.")
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "imported %s\n", done)
	return nil
}
