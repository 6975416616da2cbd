package steer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/internal/site"
)

// Apply makes a site file the one in force, now or later.
func Apply(c *cli.CLI) *cobra.Command {
	var a applyFlags
	cmd := &cobra.Command{
		Use:   "apply -f site.yml",
		Short: "Make a site file the one in force: shares, tags, queues",
		Long: `Make a site file the one in force, as a new version, at once in every daemon.

A file with problems is refused with all of them and nothing is applied. A share that is removed
while it has live work needs --move OLD=NEW; a share that only changes its name says 'was: OLD' in the file.

With --dry-run nothing changes: it shows who would gain and lose how many slots, and how long the way there
takes, from the ends of jobs of late.

With --at the file is stored and takes effect then, as it stands: ` + timesHelp + `.
--list-later lists what waits, --cancel takes one back. One that live work forbids when its time has come
is kept as failed, and nothing of it is applied.`,
		Example: "  divvy apply -f site.yml --dry-run\n  divvy apply -f site.yml --note 'more for analysis' --move Test=Analysis/User\n" +
			"  divvy apply -f night.yml --at '2026-03-01 22:00'\n  divvy apply --list-later\n  divvy apply --cancel 3",
		Args: cli.Takes(),
	}
	cmd.RunE = c.WithClient(func(ctx context.Context, cl *client.Client, _ []string) error {
		a.given = cmd.Flags().Changed
		if err := a.check(); err != nil {
			return err
		}
		return apply(ctx, c, cl, a)
	})
	f := cmd.Flags()
	f.StringVarP(&a.file, "file", "f", "", "site file; - reads standard input")
	_ = cmd.MarkFlagFilename("file", "yml", "yaml")
	bindApply(cmd, &a.options, &a.moves)
	f.StringVar(&a.at, "at", "", "take effect at this time; with --dry-run: targets by the plans in force then")
	f.BoolVar(&a.list, "list-later", false, "list the versions that take effect later")
	f.BoolVar(&a.all, "all", false, "with --list-later: those too that are over")
	f.Int64Var(&a.cancel, "cancel", 0, "take back this later version")
	return cmd
}

type applyFlags struct {
	file    string
	at      string
	moves   []string
	options client.ApplyOptions
	list    bool
	all     bool
	cancel  int64
	given   func(flag string) bool
}

// check refuses flags that do not go together.
func (a applyFlags) check() error {
	other := show.Pick(a.list, "list-later", show.Pick(a.given("cancel"), "cancel", ""))
	switch {
	case a.list && a.given("cancel"):
		return fail.Usagef("--list-later and --cancel do not go together: give one of them")
	case a.all && !a.list:
		return fail.Usagef("--all goes with --list-later only")
	case other == "" && a.file == "":
		return fail.Hintf(fail.Usagef("which site file? Give -f"), "Example: divvy apply -f site.yml --dry-run")
	case other == "cancel" && a.cancel < 1:
		return fail.Usagef("--cancel %d is not the number of a later version: expected 1, 2, 3 …; --list-later has them", a.cancel)
	case other == "":
		return nil
	}
	for _, flag := range []string{"file", "at", "dry-run", "move", "note"} {
		if a.given(flag) {
			return fail.Usagef("--%s does not go with --%s: it is about a file that is applied", flag, other)
		}
	}
	return nil
}

func apply(ctx context.Context, c *cli.CLI, cl *client.Client, a applyFlags) (err error) {
	switch {
	case a.list:
		return listLater(ctx, c, cl, a.all)
	case a.given("cancel"):
		return cancelLater(ctx, c, cl, a.cancel)
	}
	o := a.options
	at, err := parseTime("--at", a.at, time.Now())
	if err != nil {
		return err
	}
	src, name, err := cli.ReadFile(c, a.file)
	if err != nil {
		return err
	}
	if o.Moves, err = parseMoves(a.moves); err != nil {
		return err
	}
	o.File, o.By = name, cli.Whoami()
	var applied wire.Applied
	switch {
	case at.IsZero():
		applied, err = untilMoved(ctx, c, func() (wire.Applied, error) { return cl.Site().Apply(ctx, src, o) })
	case o.DryRun:
		applied, err = cl.Site().WhatIf(ctx, src, at, o)
	default:
		return applyLater(ctx, c, cl, src, at, o)
	}
	if err != nil {
		return err
	}
	return printApplied(c, applied)
}

// untilMoved makes a change again while live work moves ahead of it, and says so.
func untilMoved(ctx context.Context, c *cli.CLI, change func() (wire.Applied, error)) (wire.Applied, error) {
	for {
		applied, err := change()
		if !client.IsCode(err, "moving") {
			return applied, err
		}
		var p *wire.Problem
		errors.As(err, &p)
		fmt.Fprintln(c.Err, p.Detail)
		select {
		case <-ctx.Done():
			return wire.Applied{}, ctx.Err()
		case <-time.After(client.RetryAfter(err)):
		}
	}
}

// bindApply adds the flags that apply and rollback share.
func bindApply(cmd *cobra.Command, o *client.ApplyOptions, moves *[]string) {
	f := cmd.Flags()
	f.BoolVar(&o.DryRun, "dry-run", false, "check, and show what would change; apply nothing")
	f.StringArrayVar(moves, "move", nil, "old=new: live work of share old goes to share new (may be repeated)")
	f.StringVar(&o.Note, "note", "", "why; kept with the version")
}

// printApplied fails when a dry run found that the change would be refused.
func printApplied(c *cli.CLI, a wire.Applied) error {
	if err := c.Print(a, func(w io.Writer) { writeApplied(w, a) }); err != nil {
		return err
	}
	if len(a.Refused) > 0 {
		return fail.ErrSilent
	}
	return nil
}

func parseMoves(pairs []string) (map[string]string, error) {
	moves := map[string]string{}
	for _, p := range pairs {
		from, to, ok := strings.Cut(p, "=")
		if !ok || from == "" || to == "" || moves[from] != "" {
			return nil, fail.Usagef("--move %s: expected OLD=NEW, two paths of shares such as Test=Analysis/User, each OLD once", p)
		}
		moves[from] = to
	}
	return moves, nil
}

func writeApplied(w io.Writer, a wire.Applied) {
	switch {
	case a.Unchanged:
		fmt.Fprintf(w, "version %d is in force already: nothing to do\n", a.Version)
		return
	case a.DryRun:
		fmt.Fprintf(w, "dry run: this would be version %d\n\n", a.Version)
	default:
		fmt.Fprintf(w, "version %d is in force\n\n", a.Version)
	}
	writeChanges(w, a.Changes)
	for _, m := range a.Moved {
		fmt.Fprintf(w, "live work of %s %s to %s: %s; jobs: %d waiting, %d ready, %d leased\n", m.From, show.Pick(a.DryRun, "would go", "went"), m.To,
			show.Plural(m.Live.Tasks, "task"), m.Live.Waiting, m.Live.Ready, m.Live.Leased)
	}
	for _, p := range a.Targets {
		fmt.Fprintln(w)
		writeTargets(w, p)
	}
	for _, n := range a.Notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
	if len(a.Refused) > 0 {
		fmt.Fprintln(w, "\nrefused:")
	}
	for _, r := range a.Refused {
		fmt.Fprintf(w, "  %s\n", wire.As[site.Obstacle](r))
	}
}

// writeChanges lists what differs, a line each: + added, - removed, ~ changed.
func writeChanges(w io.Writer, changes wire.SiteChanges) {
	c := wire.As[site.Changes](changes)
	if c.None() {
		fmt.Fprintln(w, "nothing changes but the words")
		return
	}
	for _, l := range c.Lines() {
		changeLine(w, l)
	}
}

func changeLine(w io.Writer, l site.ChangeLine) {
	sign, colour := "~", text.FgYellow
	switch l.Kind {
	case "added":
		sign, colour = "+", text.FgGreen
	case "removed":
		sign, colour = "-", text.FgRed
	}
	if show.Colourful(w) {
		sign = colour.Sprint(sign)
	}
	fmt.Fprintf(w, "%s %s\n", sign, l.Text)
}

// writeTargets draws the tree with the targets before and after.
func writeTargets(w io.Writer, p wire.PoolTargets) {
	fmt.Fprintf(w, "pool %s: capacity %s → %s, shared out now %s → %s\n", p.Pool,
		show.Capacity(p.CapacityBefore), show.Capacity(p.CapacityAfter), show.Units(p.RoundBefore), show.Units(p.RoundAfter))
	depths := make([]int, len(p.Shares))
	for i, s := range p.Shares {
		depths[i] = s.Depth
	}
	fmt.Fprintf(w, "there in: %s\n", p.Way.ETA)
	g := show.New(w, "share", ">held", ">target", ">after", ">slots")
	for i, prefix := range show.Branches(depths) {
		s := p.Shares[i]
		name := path.Base(s.Path)
		if s.Path == "" {
			name = "all"
		}
		if s.From != "" {
			name += " (was " + s.From + ")"
		}
		g.Row(prefix+name, show.Units(s.Held), target(s.Before), target(s.After), change(s))
	}
	g.Flush()
}

func target(f *float64) string {
	if f == nil {
		return "-"
	}
	return show.Units(*f)
}

// change is what a share gains or loses, in whole slots.
func change(s wire.TargetChange) string {
	switch {
	case s.Before == nil:
		return fmt.Sprintf("new, +%d", s.SlotsAfter)
	case s.After == nil:
		return fmt.Sprintf("removed, -%d", s.SlotsBefore)
	case s.Gain == 0:
		return "="
	}
	return fmt.Sprintf("%+d", s.Gain)
}

func versionNumber(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return 0, noVersion(s)
	}
	return n, nil
}

const whichVersions = "'divvy shares history' lists them."

func noVersion(what any) error {
	return fail.Hintf(fail.Usagef("%v is not the number of a version: expected 1, 2, 3 …", what), whichVersions)
}

// ofVersions adds to the server's answer that there is no such version where to find those that there are.
func ofVersions(err error) error {
	if client.IsCode(err, "no_version") {
		return fail.Hintf(err, whichVersions)
	}
	return err
}
