package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/transfer"
	"github.com/divvyhq/divvy/migrations"
)

// Streams are those of the command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Up applies all pending migrations.
func (s Streams) Up(ctx context.Context, db *pgxpool.Pool) error {
	done, err := migrations.Up(ctx, db)
	for _, step := range done {
		fmt.Fprintf(s.Out, "applied %d %s\n", step.Version, step.Name)
	}
	if err == nil && len(done) == 0 {
		fmt.Fprintln(s.Out, "nothing to do")
	}
	return err
}

// Restored has ids go on behind all that may have been given.
func (s Streams) Restored(ctx context.Context, db *pgxpool.Pool) error {
	skipped, err := migrations.GoOn(ctx, db, true)
	if err == nil {
		fmt.Fprintf(s.Out, "%d ids are left out\n", skipped)
	}
	return err
}

// Down takes back the newest migration.
func (s Streams) Down(ctx context.Context, db *pgxpool.Pool) error {
	step, ok, err := migrations.Down(ctx, db)
	switch {
	case err != nil:
		return err
	case !ok:
		fmt.Fprintln(s.Out, "nothing to take back")
	default:
		fmt.Fprintf(s.Out, "took back %d %s\n", step.Version, step.Name)
	}
	return nil
}

// Export writes a site to a new file, or, as "-", to standard output. Nobody else may read the file: hashes of tokens are in it.
func (s Streams) Export(ctx context.Context, db *pgxpool.Pool, file string) error {
	if file == "-" {
		return s.export(ctx, db, s.Out, s.Err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists, and an export writes over nothing: name a new file, or - for standard output", file)
	}
	if err != nil {
		return err
	}
	if err := errors.Join(s.export(ctx, db, f, s.Out), f.Close()); err != nil {
		_ = os.Remove(file) // half of it is of no use
		return err
	}
	return nil
}

func (s Streams) export(ctx context.Context, db *pgxpool.Pool, w, said io.Writer) error {
	done, err := transfer.Export(ctx, db, w)
	if err != nil {
		return err
	}
	fmt.Fprintf(said, "exported %s\n", done.Records)
	if done.Tasks > 0 || done.Leases > 0 {
		fmt.Fprintf(s.Err, "warning: %d tasks are not over, and there are %d leases: they stay behind, and what they use from now on is not in the file. "+
			"Let them end, and export again.\n", done.Tasks, done.Leases)
	}
	return nil
}

// Import takes a file, "-" is standard input, into a new database, whose schema it brings up.
func (s Streams) Import(ctx context.Context, db *pgxpool.Pool, file string) error {
	r, name := s.In, "stdin"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		r, name = f, file
	}
	if _, err := migrations.Up(ctx, db); err != nil {
		return err
	}
	done, err := transfer.Import(ctx, db, r, name)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "imported %s\n", done)
	return nil
}
