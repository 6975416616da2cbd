package steer

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/shares"
)

// timesHelp says which times --at takes.
const timesHelp = "RFC 3339 (2026-03-01T08:00:00+01:00), '2026-03-01 08:00' on this machine's clock, or +90m, +2h, +7d from now"

func parseTime(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ahead, ok := strings.CutPrefix(text, "+"); ok {
		if d, err := shares.ParseDuration(ahead); err == nil && d >= 0 {
			return now.Add(time.Duration(d)).Truncate(time.Second), nil
		}
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02 15:04:05"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fail.Usagef("%s %s: expected %s", flag, text, timesHelp)
}

func applyLater(ctx context.Context, c *cli.CLI, cl *client.Client, src []byte, at time.Time, o client.ApplyOptions) error {
	l, err := cl.Site().ApplyLater(ctx, src, at, o)
	if client.IsCode(err, "past") {
		return fail.Hintf(err, "Leave --at out to apply the file at once, or say how far ahead: --at +2h.")
	}
	if err != nil {
		return err
	}
	return c.Print(l, func(w io.Writer) {
		fmt.Fprintf(w, "later version %d takes effect at %s, in %s; divvy apply --cancel %d takes it back\n",
			l.ID, l.At.UTC().Format(time.RFC3339), time.Until(l.At).Round(time.Second), l.ID)
		writeNotes(w, "", l.Notes)
	})
}

func listLater(ctx context.Context, c *cli.CLI, cl *client.Client, all bool) error {
	page, err := cl.Site().Later(ctx, all)
	if err != nil {
		return err
	}
	return c.Print(page, func(w io.Writer) { writeLater(w, page.Items) })
}

func cancelLater(ctx context.Context, c *cli.CLI, cl *client.Client, id int64) error {
	l, err := cl.Site().CancelLater(ctx, id, cli.Whoami())
	if err != nil {
		return err
	}
	return c.Print(l, func(w io.Writer) { fmt.Fprintf(w, "later version %d is cancelled\n", l.ID) })
}

// writeLater lists later versions; what there is to say of one follows it.
func writeLater(w io.Writer, items []wire.Later) {
	g := show.New(w, ">later", "takes effect", "state", "by", "file", "made under", "note")
	for _, l := range items {
		state := g.State(l.State)
		if l.Version > 0 {
			state += fmt.Sprintf(" as %d", l.Version)
		}
		g.Row(l.ID, l.At.UTC().Format(time.DateTime), state, l.By, l.File, fmt.Sprintf("version %d", l.BaseVersion), show.OrDash(l.Note))
	}
	g.Flush()
	for _, l := range items {
		if l.Error != "" {
			fmt.Fprintf(w, "later version %d failed, nothing of it was applied:\n  %s\n", l.ID, strings.ReplaceAll(l.Error, "\n", "\n  "))
		}
		writeNotes(w, fmt.Sprintf("later version %d: ", l.ID), l.Notes)
	}
}

func writeNotes(w io.Writer, prefix string, notes []string) {
	for _, n := range notes {
		fmt.Fprintf(w, "note: %s%s\n", prefix, n)
	}
}
