package cli

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/show"
)

// Paper is where an answer is written for people.
type Paper struct {
	io.Writer
	Wide bool      // a table may have more columns
	Now  time.Time // ages are counted from it
}

// Run is what cobra runs.
type Run = func(*cobra.Command, []string) error

// Answer is the run of a command that is a call: what it answers is printed as JSON or YAML, or by write.
func Answer[T any](c *CLI, call func(ctx context.Context, cl *client.Client, args []string) (T, error), write func(Paper, T)) Run {
	return c.WithClient(func(ctx context.Context, cl *client.Client, args []string) error {
		answer, err := call(ctx, cl, args)
		if err != nil {
			return err
		}
		return c.Print(answer, func(w io.Writer) { write(c.Paper(w), answer) })
	})
}

// Items is Answer of a call that lists all there are, in one page.
func Items[T any](c *CLI, call func(ctx context.Context, cl *client.Client, args []string) ([]T, error), write func(Paper, []T)) Run {
	return Answer(c, func(ctx context.Context, cl *client.Client, args []string) (wire.Page[T], error) {
		all, err := call(ctx, cl, args)
		return wire.Page[T]{Items: all}, err
	}, func(to Paper, page wire.Page[T]) { write(to, page.Items) })
}

// ByID is Answer of a call for the one thing whose id is the argument.
func ByID[T any](c *CLI, what string, call func(ctx context.Context, cl *client.Client, id int64) (T, error), write func(Paper, T)) Run {
	return Answer(c, func(ctx context.Context, cl *client.Client, args []string) (answer T, err error) {
		id, err := ParseID(what, args[0])
		if err != nil {
			return answer, err
		}
		return call(ctx, cl, id)
	}, write)
}

// Listing makes a command of a list that comes in pages, and gives it the flags for them.
func Listing[T any](c *CLI, cmd *cobra.Command, things string, read func(ctx context.Context, cl *client.Client, after string, limit int) (wire.Page[T], error), write func(Paper, wire.Page[T])) *cobra.Command {
	var want Pages
	cmd.Args = Takes()
	cmd.RunE = Answer(c, func(ctx context.Context, cl *client.Client, _ []string) (wire.Page[T], error) {
		return Gather(want, func(after string, limit int) (wire.Page[T], error) { return read(ctx, cl, after, limit) })
	}, write)
	f := cmd.Flags()
	f.IntVar(&want.Limit, "limit", 100, things+" a page, 1 to 1000")
	f.StringVar(&want.After, "after", "", "go on after a page: its 'next'")
	f.BoolVar(&want.All, "all", false, "all pages")
	return cmd
}

// Paper makes one of a writer.
func (c *CLI) Paper(w io.Writer) Paper { return Paper{Writer: w, Wide: c.Wide(), Now: time.Now()} }

// Rows writes a table.
func Rows[T any](t show.Table[T]) func(Paper, []T) {
	return func(to Paper, all []T) { t.Write(to, all, to.Wide) }
}

// Each is Items of a call for each argument, of which a line is written. The first that fails ends it.
func Each[T any](c *CLI, call func(ctx context.Context, cl *client.Client, arg string) (T, error), line func(Paper, T)) Run {
	return Items(c, func(ctx context.Context, cl *client.Client, args []string) (done []T, err error) {
		for _, arg := range args {
			one, err := call(ctx, cl, arg)
			if err != nil {
				return nil, err
			}
			done = append(done, one)
		}
		return done, nil
	}, func(to Paper, done []T) {
		for _, one := range done {
			line(to, one)
		}
	})
}
