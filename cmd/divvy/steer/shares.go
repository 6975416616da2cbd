package steer

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/cmd/divvy/work"
	"github.com/divvyhq/divvy/internal/loops"
)

// Shares shows the tree as it stands and the versions of the site.
func Shares(c *cli.CLI) *cobra.Command {
	group := &cobra.Command{Use: "shares", Aliases: []string{"share"}, Short: "The share tree: how it stands, and its versions"}
	group.AddCommand(sharesShowCommand(c), sharesHistoryCommand(c), sharesRollbackCommand(c), work.SharesWhy(c),
		&cobra.Command{Use: "diff FROM TO", Short: "Show what changed between two versions", Example: "  divvy shares diff 2 3",
			Args: cli.Takes("FROM, the number of a version", "TO, the number of another"), RunE: cli.Answer(c, sharesDiff, func(w cli.Paper, d wire.SiteChanges) { writeChanges(w, d) })})
	return group
}

func sharesShowCommand(c *cli.CLI) *cobra.Command {
	var watch bool
	var version int64
	var every time.Duration
	cmd := &cobra.Command{
		Use:     "show",
		Short:   "Show the tree with weight, target, held, ready and deficit; or the file of an old version",
		Example: "  divvy shares show -o wide\n  divvy shares show --watch --every 5s\n  divvy shares show --version 3",
		Args:    cli.Takes(),
	}
	cmd.RunE = c.WithClient(func(ctx context.Context, cl *client.Client, _ []string) error {
		old := cmd.Flags().Changed("version")
		switch {
		case watch && (old || c.Structured()):
			return fail.Usagef("--watch shows the live tree as a table; it goes with neither --version nor -o json or yaml")
		case cmd.Flags().Changed("every") && !watch:
			return fail.Usagef("--every is how often --watch looks: give --watch too")
		case old && version < 1:
			return noVersion(version)
		case old:
			return showVersion(ctx, c, cl, version)
		case watch:
			return watchShares(ctx, c, cl, every)
		}
		s, err := cl.Shares().Standing(ctx)
		if err != nil {
			return err
		}
		return c.Print(s, func(w io.Writer) { work.WriteStanding(w, s, c.Wide(), 0) })
	})
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "go on showing it until Ctrl-C")
	cmd.Flags().DurationVar(&every, "every", time.Second, "how often --watch looks")
	cmd.Flags().Int64Var(&version, "version", 0, "the site file of this version instead")
	return cmd
}

func showVersion(ctx context.Context, c *cli.CLI, cl *client.Client, n int64) error {
	v, err := cl.Site().At(ctx, n)
	if err != nil {
		return ofVersions(err)
	}
	return c.Print(v, func(w io.Writer) { writeVersion(w, v) })
}

// writeVersion writes the file of a version behind comments about it, so that it may be applied as it stands.
func writeVersion(w io.Writer, v wire.SiteVersion) {
	fmt.Fprintf(w, "# version %d, applied %s by %s", v.Version, v.AppliedAt.UTC().Format(time.DateTime), v.AppliedBy)
	if v.Note != "" {
		fmt.Fprintf(w, ": %s", v.Note)
	}
	for line := range strings.Lines(v.Unreadable) {
		fmt.Fprintf(w, "\n# this divvy does not read it: %s", strings.TrimSpace(line))
	}
	fmt.Fprintf(w, "\n%s", v.Source)
	if !strings.HasSuffix(v.Source, "\n") {
		fmt.Fprintln(w)
	}
}

// watchShares draws the tree again and again: in place on a terminal, else only when it changed.
func watchShares(ctx context.Context, c *cli.CLI, cl *client.Client, every time.Duration) error {
	width, live := show.Terminal(c.Out)
	barWidth := 0
	if live {
		barWidth = max(0, min(40, width-70))
	}
	if every < 100*time.Millisecond {
		return fail.Usagef("--every %s: expected 100ms or more, such as 1s", every)
	}
	last := ""
	for {
		s, err := cl.Shares().Standing(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		var b bytes.Buffer
		work.WriteStanding(&b, s, c.Wide(), barWidth)
		switch text := b.String(); {
		case live:
			redraw(c.Out, s.At.Local().Format(time.TimeOnly)+"  Ctrl-C ends\n\n"+text, last == "")
			last = text
		case text != last:
			fmt.Fprintf(c.Out, "%s\n%s\n", s.At.UTC().Format(time.RFC3339), text)
			last = text
		}
		if !loops.Pause(ctx, every) {
			return nil
		}
	}
}

// redraw writes text over what it wrote before, without flicker: home, line by line, the rest erased.
func redraw(w io.Writer, text string, first bool) {
	start := "\x1b[H"
	if first {
		start = "\x1b[2J\x1b[H"
	}
	io.WriteString(w, start+strings.ReplaceAll(text, "\n", "\x1b[K\n")+"\x1b[J")
}

func sharesHistoryCommand(c *cli.CLI) *cobra.Command {
	var limit int
	var after string
	var all bool
	cmd := &cobra.Command{Use: "history", Short: "List the applied versions, newest first",
		Example: "  divvy shares history --limit 20", Args: cli.Takes(),
		RunE: c.WithClient(func(ctx context.Context, cl *client.Client, _ []string) error {
			if limit < 1 || limit > 1000 {
				return fail.Usagef("--limit %d: expected 1 to 1000 versions a page; --all has all pages", limit)
			}
			page, err := cli.Gather(cli.Pages{All: all, After: after, Limit: limit}, func(after string, limit int) (wire.Page[wire.SiteHead], error) {
				return cl.Site().Versions(ctx, limit, after)
			})
			if err != nil {
				return err
			}
			var later wire.Page[wire.Later] // only the first page is about now
			if after == "" {
				if later, err = cl.Site().Later(ctx, false); err != nil {
					return err
				}
			}
			return c.Print(page, func(w io.Writer) { writeHistory(w, page, later.Items) })
		})}
	cmd.Flags().IntVar(&limit, "limit", 100, "versions a page, 1 to 1000")
	cmd.Flags().StringVar(&after, "after", "", "go on after a page: its 'next'")
	cmd.Flags().BoolVar(&all, "all", false, "all pages")
	return cmd
}

// writeHistory lists the versions, and after them the later ones that wait or failed of late.
func writeHistory(w io.Writer, page wire.Page[wire.SiteHead], later []wire.Later) {
	g := show.New(w, ">version", "applied", "by", "note")
	for _, v := range page.Items {
		note := v.Note
		if v.RollbackOf != 0 {
			note = strings.TrimSpace(fmt.Sprintf("(= version %d) %s", v.RollbackOf, note))
		}
		g.Row(v.Version, v.AppliedAt.UTC().Format(time.DateTime), v.AppliedBy, show.OrDash(note))
	}
	g.Flush()
	cli.More(w, page.Next)
	for _, l := range later {
		fmt.Fprintf(w, "later version %d %s %s; divvy apply --list-later has all of them\n", l.ID,
			show.Pick(l.State == "waiting", "takes effect at", "failed, and is not in force: it was due at"), l.At.UTC().Format(time.DateTime))
	}
}

func sharesDiff(ctx context.Context, cl *client.Client, args []string) (d wire.SiteChanges, err error) {
	from, err := versionNumber(args[0])
	if err != nil {
		return d, err
	}
	to, err := versionNumber(args[1])
	if err != nil {
		return d, err
	}
	d, err = cl.Site().Diff(ctx, from, to)
	return d, ofVersions(err)
}

func sharesRollbackCommand(c *cli.CLI) *cobra.Command {
	var moves []string
	var o client.ApplyOptions
	cmd := &cobra.Command{Use: "rollback VERSION", Short: "Apply an old version again, as a new one",
		Example: "  divvy shares rollback 3 --dry-run", Args: cli.Takes("VERSION, the number of an old version")}
	cmd.RunE = c.WithClient(func(ctx context.Context, cl *client.Client, args []string) error {
		n, err := versionNumber(args[0])
		if err != nil {
			return err
		}
		if o.Moves, err = parseMoves(moves); err != nil {
			return err
		}
		o.By = cli.Whoami()
		applied, err := untilMoved(ctx, c, func() (wire.Applied, error) { return cl.Site().Rollback(ctx, n, o) })
		if err != nil {
			return ofVersions(err)
		}
		return printApplied(c, applied)
	})
	bindApply(cmd, &o, &moves)
	return cmd
}
