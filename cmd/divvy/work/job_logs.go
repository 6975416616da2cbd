package work

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
)

func jobLogsCommand(c *cli.CLI) *cobra.Command {
	var attempt int
	var follow bool
	cmd := &cobra.Command{Use: "logs JOB", Aliases: []string{"log"}, Short: "Print what an attempt wrote: its end, or with -f as it is written", Args: cli.Takes("JOB, the id of a job"),
		Example: "  divvy job logs 7\n  divvy job logs -f 7"}
	last := cli.ByID(c, "job", func(ctx context.Context, cl *client.Client, id int64) (wire.Log, error) {
		return cl.Jobs().Log(ctx, id, attempt)
	}, func(w cli.Paper, log wire.Log) {
		io.WriteString(w, log.Tail)
		if log.Tail != "" && !strings.HasSuffix(log.Tail, "\n") {
			io.WriteString(w, "\n")
		}
	})
	followed := c.WithClient(func(ctx context.Context, cl *client.Client, args []string) error {
		id, err := cli.ParseID("job", args[0])
		if err != nil {
			return err
		}
		return followJob(ctx, c, cl, id, attempt)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if follow {
			return followed(cmd, args)
		}
		return last(cmd, args)
	}
	cmd.Flags().IntVar(&attempt, "attempt", 0, "which attempt; 0 = the last one, and with -f those after it")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print stdout and stderr as they are written, until the job has ended")
	return cmd
}

// followJob prints what a job writes until it has ended: its stdout to stdout, its stderr to stderr. With -o json it
// prints the answers of the API, one a line.
func followJob(ctx context.Context, c *cli.CLI, cl *client.Client, id int64, attempt int) error {
	printed := 0 // attempt of which something was printed
	for out, err := range cl.Jobs().Follow(ctx, id, attempt) {
		if err != nil {
			return err
		}
		if c.Output == "json" {
			if err := json.NewEncoder(c.Out).Encode(out); err != nil {
				return err
			}
			continue
		}
		for _, piece := range out.Chunks {
			if printed > 0 && printed != out.Attempt {
				fmt.Fprintf(c.Err, "[attempt %d]\n", out.Attempt)
			}
			if err := printPiece(c, piece, printed == out.Attempt); err != nil {
				return err
			}
			printed = out.Attempt
		}
	}
	return nil
}

// printPiece prints a piece, and says what is missing before it. begun: something of the attempt was printed before.
func printPiece(c *cli.CLI, piece wire.OutputPiece, begun bool) error {
	to := c.Out
	switch {
	case piece.Stream == wire.Stderr:
		to = c.Err
	case piece.Stream == wire.Tail && begun:
		fmt.Fprintln(c.Err, "[its pilot sent no more; the end of the output as it is kept:]")
	}
	if piece.Missed > 0 {
		fmt.Fprintf(c.Err, "[%d bytes of %s before]\n", piece.Missed, piece.Stream)
	}
	_, err := to.Write(piece.Data)
	return err
}
