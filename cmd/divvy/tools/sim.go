package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/internal/site/file"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/sim"
)

// Sim rehearses a site: what its tree would have given, without a daemon and without a database.
func Sim(c *cli.CLI) *cobra.Command {
	group := &cobra.Command{Use: "sim", Short: "Simulate a site: what a tree of shares would have given to whom"}
	group.AddCommand(simSWFCommand(c), simReplayCommand(c))
	return group
}

// swfFlags are those of 'divvy sim swf'.
type swfFlags struct {
	site, mapping, pool, rule string
	slots, limit              int
	compare, strict           bool
	seed                      uint64
	from, every               string
	output                    string
}

// swfFormats are those of -o; csv, plot and svg are of this command alone.
var swfFormats = []string{"table", "json", "yaml", "csv", "plot", "svg"}

func simSWFCommand(c *cli.CLI) *cobra.Command {
	var f swfFlags
	cmd := &cobra.Command{
		Use:   "swf FILE",
		Short: "Simulate a trace in the Standard Workload Format",
		Long: `Simulate a trace in the Standard Workload Format: who would have waited how long, and who would have got
how much of what the tree says. No daemon is asked and nothing is stored.

The shares come from --site, else one of weight 1 is made for each path that --map yields. Jobs are mapped to them by
--map, else by the tagging rules of the site, which see user, working_group, transformation (the executable), queue
and labels.partition as the numbers of the trace. docs/simulation.md has the model and its limits.`,
		Example: "  divvy sim swf trace.swf --site site.yml --slots 240 --compare\n" +
			"  divvy sim swf trace.swf --map 'share=group.{gid}' --slots 240 -o plot\n" +
			"  divvy sim swf trace.swf --site site.yml --slots 240 --from 30d --limit 1000 -o csv",
		Args: cli.Takes("FILE, a trace in the Standard Workload Format; - reads standard input"),
		RunE: func(cmd *cobra.Command, args []string) error { return simSWF(cmd.Context(), c, args[0], f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.site, "site", "", "site file with the tree, and the tagging rules unless --map is given")
	fl.StringVar(&f.mapping, "map", "", "share of a job: share=PATH with {uid}, {gid}, {queue} or {partition} in it")
	fl.IntVar(&f.slots, "slots", 0, "cores (default: those of the site's queues, else MaxProcs of the trace)")
	fl.StringVar(&f.pool, "pool", file.DefaultPool, "resource group that figures of the site are taken for")
	fl.StringVar(&f.rule, "rule", "divvy", "who is next: "+ruleNames())
	fl.BoolVar(&f.compare, "compare", false, "all rules, side by side")
	fl.BoolVar(&f.strict, "strict", false, "refuse a trace with broken records; else they are left out and counted")
	fl.Uint64Var(&f.seed, "seed", 0, "shuffle jobs that arrive in the same second; 0 = as in the file")
	fl.StringVar(&f.from, "from", "0s", "leave out what was submitted earlier than this after the beginning, such as 30d")
	fl.IntVar(&f.limit, "limit", 0, "at most so many jobs; 0 = all")
	fl.StringVar(&f.every, "every", "", "width of a point of csv, plot and svg, such as 6h (default: about a hundred points)")
	fl.StringVarP(&f.output, "output", "o", "table", "table, json, yaml, csv, plot or svg")
	_ = cmd.RegisterFlagCompletionFunc("output", cli.Fixed(swfFormats...))
	_ = cmd.MarkFlagFilename("site", "yml", "yaml")
	return cmd
}

// SimReport is what -o json prints.
type SimReport struct {
	Trace   string         `json:"trace"`
	Jobs    int            `json:"jobs" doc:"Simulated."`
	LeftOut map[string]int `json:"left_out" doc:"Records of the trace that cannot be simulated, by reason."`
	Seed    uint64         `json:"seed"`
	Runs    []sim.Result   `json:"runs" doc:"One for each rule."`
}

func simSWF(ctx context.Context, c *cli.CLI, file string, f swfFlags) error {
	rules, err := f.check()
	if err != nil {
		return err
	}
	w, err := readWorkload(c, file, f)
	if err != nil {
		return err
	}
	warnOfPlans(c, w.tree)
	report := SimReport{Trace: w.name, Jobs: len(w.jobs), LeftOut: w.left, Seed: f.seed}
	for _, rule := range rules {
		progress, done := simProgress(ctx, c, rule.Name(), len(w.jobs))
		r, err := sim.Run(sim.Config{Tree: w.tree, Pool: f.pool, Capacity: w.capacity, Rule: rule, Every: w.every, Seed: f.seed,
			Progress: progress}, w.jobs)
		done()
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		report.Runs = append(report.Runs, r)
	}
	return printSim(c, report, f.output)
}

// warnOfPlans says which keys of the plans a simulation leaves out.
func warnOfPlans(c *cli.CLI, t *shares.Tree) {
	for i := range t.Nodes {
		p := &t.Nodes[i].Plan
		if len(p.Windows) > 0 || p.Reclaim != nil {
			fmt.Fprintf(c.Err, "divvy: plans (windows) and reclaim do not act in a simulation; share %s has one of them\n", t.Nodes[i].Path)
			return
		}
	}
}

// simProgress is a line on a terminal. It ends the run when the context does.
func simProgress(ctx context.Context, c *cli.CLI, rule string, nJob int) (progress func(started int) error, done func()) {
	_, live := show.Terminal(c.Err)
	return func(started int) error {
			if live {
				fmt.Fprintf(c.Err, "\r%s: %d of %d jobs\x1b[K", rule, started, nJob)
			}
			return ctx.Err()
		}, func() {
			if live {
				fmt.Fprint(c.Err, "\r\x1b[K")
			}
		}
}

// check refuses flags that make no sense, and gives the rules to run.
func (f *swfFlags) check() ([]sim.Rule, error) {
	switch {
	case !slices.Contains(swfFormats, f.output):
		return nil, fail.Usagef("unknown output format %q; use table, json, yaml, csv, plot or svg", f.output)
	case f.site == "" && f.mapping == "":
		return nil, fail.Usagef("which share does a job belong to? Give --site, --map 'share=group.{gid}', or both")
	case f.slots < 0 || f.slots > 1e9:
		return nil, fail.Usagef("--slots %d: expected 1 to 1000000000 cores", f.slots)
	case f.limit < 0:
		return nil, fail.Usagef("--limit %d: expected a number of jobs, or 0 for all", f.limit)

	}
	for _, flag := range []struct{ name, text string }{{"from", f.from}, {"every", f.every}} {
		if d, err := shares.ParseDuration(flag.text); flag.text != "" && (err != nil || d < 0) {
			return nil, fail.Usagef("--%s: %q is not a duration such as 90s, 24h or 7d", flag.name, flag.text)
		}
	}
	if f.compare {
		if f.rule != sim.Rules[0].Name() {
			return nil, fail.Usagef("--compare runs all rules: leave --rule out")
		}
		return sim.Rules, nil
	}
	for _, r := range sim.Rules {
		if r.Name() == f.rule {
			return []sim.Rule{r}, nil
		}
	}
	return nil, fail.Usagef("--rule %s is not known; use %s", f.rule, ruleNames())
}

func ruleNames() string {
	names := ""
	for i, r := range sim.Rules {
		names += show.Pick(i == 0, "", show.Pick(i == len(sim.Rules)-1, " or ", ", ")) + r.Name()
	}
	return names
}

// everyOf is the width of a point that gives about a hundred for a time.
func everyOf(span time.Duration) time.Duration {
	for _, every := range []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour} {
		if span <= 120*every {
			return every
		}
	}
	const day = 24 * time.Hour
	return max(day, (span / 100).Round(day))
}

var errNoJob = errors.New("no job is left to simulate")
