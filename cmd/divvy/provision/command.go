package provision

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/internal/build"
)

// flags are those of 'divvy provision'.
type flags struct {
	queue, site, state, pilot string
	grace, every              time.Duration
	table, dryRun             bool
	set, labels               map[string]string
}

// Command is 'divvy provision'.
func Command(c *cli.CLI) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "provision --queue QUEUE --site SITE",
		Short: "Start the pilots that a queue wants, in a batch system",
		Long: `Start the pilots that a queue wants, in a batch system, and cancel those that still wait there when they are
not wanted any more. The queue needs a provision in the site file; 'divvy queue wanted' explains the number.

SITE is ` + strings.Join(Templates(), ", ") + `, or a file with the templates start, list and stop.
It may be ended and started anew at any time: pilots go on, and none is started twice.`,
		Example: "  divvy provision --queue CERN --site slurm --set options=--partition=long\n  divvy provision --queue CERN --table",
		Args:    cli.Takes(),
	}
	fs := cmd.Flags()
	fs.StringVarP(&f.queue, "queue", "q", "", "queue that the pilots are for (required)")
	fs.StringVar(&f.site, "site", "", "batch system, or a file with templates (required)")
	fs.StringToStringVar(&f.set, "set", nil, "values for the templates (options=--partition=long)")
	fs.StringVar(&f.state, "state", "", "folder with the names of pilots and their output (default: below ~/.local/state/divvy)")
	fs.StringVar(&f.pilot, "pilot", "", "divvy on the machines of the pilots (default: this program)")
	fs.StringToStringVarP(&f.labels, "label", "l", nil, "labels of the pilots' slots")
	fs.DurationVar(&f.grace, "grace", 2*time.Minute, "a pilot that the batch system does not list so long after its start is lost")
	fs.DurationVar(&f.every, "every", time.Second, "how often to look")
	fs.BoolVar(&f.table, "table", false, "show the pilots that were asked for, and end")
	fs.BoolVar(&f.dryRun, "dry-run", false, "show the commands for one pilot, and end")
	_ = cmd.RegisterFlagCompletionFunc("site", cli.Fixed(Templates()...))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), c) }
	return cmd
}

func (f *flags) run(ctx context.Context, c *cli.CLI) error {
	switch {
	case f.queue == "":
		return fail.Usagef("no queue given; 'divvy queue list' shows which there are")
	case f.site == "" && !f.table:
		return fail.Usagef("no --site given: %s, or a file with templates", strings.Join(Templates(), ", "))
	case f.every < 100*time.Millisecond:
		return fail.Usagef("--every %s is less than 100ms", f.every)
	}
	if f.state == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return fail.Usagef("no home folder: give a --state")
		}
		f.state = filepath.Join(cmp.Or(os.Getenv("XDG_STATE_HOME"), filepath.Join(home, ".local", "state")), "divvy", "provision-"+f.queue)
	}
	if f.table {
		pilots, err := Read(f.state)
		if err != nil {
			return err
		}
		return c.Print(pilots, func(w io.Writer) { writeTable(c.Paper(w), pilots) })
	}
	cl, err := c.Asks(client.Config{UserAgent: "divvy-provision/" + build.Version()})
	if err != nil {
		return err
	}
	defer cl.Close()
	return f.provide(ctx, c, cl)
}

func (f *flags) provide(ctx context.Context, c *cli.CLI, cl *client.Client) error {
	prefix := "divvy-" + f.queue + "-"
	first, err := cl.Queues().Wanted(ctx, f.queue, prefix)
	if err != nil {
		return err
	}
	values, err := f.values(c, first, prefix)
	if err != nil {
		return err
	}
	site, err := OpenSite(f.site, values)
	if err != nil {
		return fail.UsageError{Err: err}
	}
	if f.dryRun {
		for _, part := range []string{"start", "list", "stop"} {
			script, err := site.Script(part, []string{prefix + "0123456789ab"})
			if err != nil {
				return err
			}
			fmt.Fprintf(c.Out, "# %s\n%s\n", part, strings.TrimSpace(script))
		}
		return nil
	}
	if err := os.MkdirAll(values.Logs, 0o700); err != nil {
		return fmt.Errorf("folder for the output of pilots: %w", err)
	}
	folder, err := OpenFolder(f.state)
	if err != nil {
		return err
	}
	defer folder.Close()
	p, err := New(Config{Prefix: prefix, Site: site, Folder: folder, Grace: f.grace, Every: f.every,
		Log: slog.New(slog.NewTextHandler(c.Err, nil)), Ask: func(ctx context.Context) (Wanted, []string, string, error) {
			q, err := cl.Queues().Wanted(ctx, f.queue, prefix)
			return Wanted{q.Wanted, q.Keep, q.Alive}, q.Seen, q.Reason, err
		}})
	if err != nil {
		return err
	}
	return p.Run(ctx)
}

// values are what the templates get: the command of a pilot follows from the provision of the queue.
func (f *flags) values(c *cli.CLI, q wire.QueueWanted, prefix string) (Values, error) {
	program := f.pilot
	if program == "" {
		self, err := os.Executable()
		if err != nil {
			return Values{}, fmt.Errorf("path of this program: %w; give --pilot", err)
		}
		program = self
	}
	p := q.Provision
	words := []string{program, "pilot", "--server", c.Server, "--queue", f.queue, "--slots", fmt.Sprint(p.Slots), "--cores", fmt.Sprint(p.Cores),
		"--max-idle", fmt.Sprintf("%ds", p.IdleS)}
	if p.MemoryMB > 0 {
		words = append(words, "--memory-mb", fmt.Sprint(p.MemoryMB))
	}
	for _, file := range [][2]string{{"--token-file", cmp.Or(c.TokenFile, os.Getenv("DIVVY_TOKEN_FILE"))}, {"--ca", c.TLS.CA}, {"--cert", c.TLS.Cert}, {"--cert-key", c.TLS.Key}} {
		if file[1] == "" {
			continue
		}
		path, err := filepath.Abs(file[1])
		if err != nil {
			return Values{}, err
		}
		words = append(words, file[0], path)
	}
	for _, name := range slices.Sorted(maps.Keys(f.labels)) {
		words = append(words, "--label", name+"="+f.labels[name])
	}
	for i := range words {
		words[i] = Quote(words[i])
	}
	state, err := filepath.Abs(f.state)
	if err != nil {
		return Values{}, err
	}
	return Values{Prefix: prefix, Queue: f.queue, Pilot: strings.Join(words, " "), Cores: p.Cores, MemoryMB: p.MemoryMB, WalltimeS: p.WalltimeS,
		Logs: filepath.Join(state, "logs"), Set: f.set}, nil
}

func writeTable(w cli.Paper, pilots []Pilot) {
	count := map[State]int{}
	g := show.New(w, "pilot", "state", "asked")
	for _, p := range pilots {
		count[p.State]++
		g.Row(p.Name, string(p.State), p.Asked.Format(time.RFC3339))
	}
	g.Flush()
	fmt.Fprintf(w, "%d asked, %d queued, %d alive\n", count[Asked], count[Queued], count[Alive])
}
