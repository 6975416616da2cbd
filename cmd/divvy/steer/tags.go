package steer

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/cmd/divvy/work"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/internal/site"
)

// Tags explains tagging.
func Tags(c *cli.CLI) *cobra.Command {
	group := &cobra.Command{Use: "tags", Aliases: []string{"tag"}, Short: "Tagging rules: which share a task belongs to"}
	var file, since string
	test := &cobra.Command{
		Use:   "test -f task.yml | --since 7d -f site.yml",
		Short: "Say rule by rule which share a task would get, or rehearse the rules of a site file on past tasks; nothing is stored",
		Long: `Say rule by rule which share a task would get under the rules in force.

With --since the file is a site file: its rules are rehearsed on the tasks that were submitted since, and tasks
and jobs are counted by the share that they had and the one that they would get. Nothing is stored either way.`,
		Example: "  divvy tags test -f task.yml\n  divvy tags test --since 7d -f new-site.yml",
		Args:    cli.Takes(),
		RunE: c.WithClient(func(ctx context.Context, cl *client.Client, _ []string) error {
			if since != "" {
				return retag(ctx, c, cl, since, file)
			}
			src, name, err := cli.ReadFile(c, file)
			if err != nil {
				return err
			}
			specs, err := spec.ParseSpecs(name, src)
			if err != nil {
				if _, no := site.Parse(name, src); no == nil {
					return fail.Hintf(fmt.Errorf("%s is a site file, not one of tasks", name), "Its rules are rehearsed on past tasks: divvy tags test --since 7d -f %s", file)
				}
				return err
			}
			return tagsTest(ctx, c, cl, specs)
		}),
	}
	test.Flags().StringVarP(&file, "file", "f", "", "file of tasks, with --since a site file; - reads standard input")
	test.Flags().StringVar(&since, "since", "", "rehearse a site file on the tasks that were submitted since: 90m, 24h, 7d")
	_ = test.MarkFlagRequired("file")
	_ = test.MarkFlagFilename("file", "yml", "yaml")
	group.AddCommand(test)
	return group
}

func tagsTest(ctx context.Context, c *cli.CLI, cl *client.Client, specs []spec.Spec) error {
	results := make([]wire.TagTest, len(specs))
	for i, s := range specs {
		var err error
		if results[i], err = cl.Site().TestTags(ctx, work.ServerSpec(s)); err != nil {
			return fmt.Errorf("task %s: %w", s.Name, err)
		}
	}
	return c.Print(wire.Page[wire.TagTest]{Items: results}, func(w io.Writer) {
		for i, r := range results {
			if i > 0 {
				fmt.Fprintln(w)
			}
			writeTagTest(w, specs[i].Name, r)
		}
	})
}

// writeTagTest says for each rule whether it matched, and if not, at which field it failed.
func writeTagTest(w io.Writer, task string, t wire.TagTest) {
	fmt.Fprintf(w, "task %s: %s\n", task, verdictOf(t))
	if t.JobShare != "" {
		fmt.Fprintf(w, "its jobs: %s, by a rule on a job attribute\n", t.JobShare)
	}
	if t.CannotRun != "" {
		fmt.Fprintf(w, "it cannot run: %s\n", t.CannotRun)
	}
	fmt.Fprintf(w, "attributes: %s\n\n", show.Labels(t.Attributes))
	g := show.New(w, ">rule", "", "share", "field", "pattern", "value")
	for _, s := range t.Rules.Trace {
		mark := "no"
		switch {
		case s.Rule == t.Rules.Rule:
			mark = show.Pick(t.Verdict == "explicit", "would win", "wins")
		case s.Matched:
			mark = "later"
		}
		if g.Colour && s.Rule == t.Rules.Rule {
			mark = text.FgGreen.Sprint(mark)
		}
		var fields, patterns, values []string
		for _, ch := range s.Checks {
			fields = append(fields, ch.Field+show.Pick(ch.Matched, "", " ✗"))
			patterns, values = append(patterns, ch.Pattern), append(values, show.OrDash(ch.Value))
		}
		if len(s.Checks) == 0 {
			fields = []string{"(anything)"}
		}
		g.Row(s.Rule+1, mark, s.Share, strings.Join(fields, "\n"), strings.Join(patterns, "\n"), strings.Join(values, "\n"))
	}
	g.Flush()
}

// verdictOf is the answer in one line.
func verdictOf(t wire.TagTest) string {
	switch t.Verdict {
	case "explicit":
		return t.Share + ", as the task says itself"
	case "matched":
		s := fmt.Sprintf("%s, by rule %d", t.Share, t.Rules.Rule+1)
		if len(t.Rules.Later) > 0 {
			later := make([]string, len(t.Rules.Later))
			for i, n := range t.Rules.Later {
				later[i] = fmt.Sprint(n + 1)
			}
			s += fmt.Sprintf(" (%s %s would match too)", show.Pick(len(later) == 1, "rule", "rules"), strings.Join(later, ", "))
		}
		return s
	case "default":
		return t.Share + ", by on_no_match: no rule matches"
	case "hold":
		return "held until a rule matches (on_no_match: hold)"
	}
	return "refused: " + t.Reason
}
