package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/golden"
)

// everyCommand calls fn with each command that people see.
func everyCommand(fn func(*cobra.Command)) {
	root := cli.Tree(&cli.CLI{Streams: cli.StandardStreams()}, rootCommand)
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		fn(cmd)
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

var (
	word = regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`)
	// outdented is a paragraph whose lines are indented, but for the first.
	outdented = regexp.MustCompile(`(?m)^\.PP\n[^ .\n].*\n {2,}\S.*$`)

	after = regexp.MustCompile(`\s(&&|\||>|<|;|#).*$`)
)

// Every command says what it does and shows an example, and each example is a command line that is understood.
func TestHelpHasExamples(t *testing.T) {
	n := 0
	everyCommand(func(cmd *cobra.Command) {
		if cmd.Short == "" || cmd.Example == "" {
			t.Errorf("%s: short %q, example %q", cmd.CommandPath(), cmd.Short, cmd.Example)
		}
		for line := range strings.Lines(cmd.Example) {
			line = after.ReplaceAllString(strings.TrimSpace(line), "")
			if !strings.HasPrefix(line, "divvy ") {
				continue
			}
			n++
			words := word.FindAllString(line, -1)
			for i, w := range words {
				words[i] = strings.Trim(w, `'"`)
			}
			of, rest, err := cli.Tree(&cli.CLI{Streams: cli.StandardStreams()}, rootCommand).Find(words[1:])
			if err == nil {
				err = of.ParseFlags(rest)
			}
			if help, _ := of.Flags().GetBool("help"); err == nil && !help {
				err = of.ValidateArgs(of.Flags().Args())
			}
			if err != nil && !errors.Is(err, pflag.ErrHelp) {
				t.Errorf("%s: %q: %v", cmd.CommandPath(), line, err)
			}
		}
	})
	if n < 80 {
		t.Errorf("only %d examples", n)
	}
	for path := range cli.Examples {
		if found := cli.Tree(&cli.CLI{Streams: cli.StandardStreams()}, rootCommand); path != "divvy" {
			if cmd, _, err := found.Find(strings.Fields(path)); err != nil || cli.Name(cmd) != path {
				t.Errorf("examples for %q, which is no command", path)
			}
		}
	}
}

// There is a manual page for every command, with its example, the same at each run; and completions.
func TestManualPages(t *testing.T) {
	dir := t.TempDir()
	for _, to := range []string{"a", "b"} {
		if o := divvy(t, "man", filepath.Join(dir, to), "--completions", filepath.Join(dir, to, "completions")); o.code != fail.OK {
			t.Fatalf("%+v", o)
		}
	}
	n := 0
	everyCommand(func(cmd *cobra.Command) {
		file := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		page, err := os.ReadFile(filepath.Join(dir, "a", file))
		if err != nil || !strings.Contains(string(page), "EXAMPLE") || !strings.Contains(string(page), ".TH") {
			t.Errorf("%s: %v\n%s", file, err, page)
		}
		if outdented.Match(page) {
			t.Errorf("%s: the first line of a list lost its indent:\n%s", file, outdented.Find(page))
		}
		again, _ := os.ReadFile(filepath.Join(dir, "b", file))
		if string(again) != string(page) {
			t.Errorf("%s is another one the second time", file)
		}
		n++
	})
	if pages, _ := filepath.Glob(filepath.Join(dir, "a", "*.1")); len(pages) < n {
		t.Errorf("%d pages for %d commands", len(pages), n)
	}
	for _, file := range []string{"divvy.bash", "_divvy", "divvy.fish"} {
		if text, err := os.ReadFile(filepath.Join(dir, "a", "completions", file)); err != nil || len(text) < 1000 {
			t.Errorf("%s: %d bytes, %v", file, len(text), err)
		}
	}
}

// Slips of the fingers are told what was meant.
func TestDidYouMean(t *testing.T) {
	for line, want := range map[string]string{
		"quue":                    "Did you mean 'divvy queue'?",
		"queue lst":               "Did you mean 'divvy queue list'?",
		"tsak list":               "Did you mean 'divvy task'?",
		"task xyzzy":              "See 'divvy task --help'.",
		"queue list --outptu x":   "Did you mean --output?",
		"task submit --fiel x":    "Did you mean --file?",
		"serve --databse auto":    "Did you mean --database?",
		"status --nothing-like-x": "See 'divvy status --help'.",
	} {
		o := divvy(t, strings.Fields(line)...)
		if o.code != fail.Usage || !strings.Contains(o.err, want) || o.out != "" {
			t.Errorf("divvy %s: code %d\n%swant %s", line, o.code, o.err, want)
		}
	}
}

// A name that the site does not have is answered with the one that was meant.
func TestDidYouMeanOfTheSite(t *testing.T) {
	t.Parallel()
	d, _ := launch(t, nil)
	for line, want := range map[string]string{
		"queue show LOCLA":                    `did you mean "LOCAL"?`,
		"queue drain LOCA":                    `did you mean "LOCAL"?`,
		"shares why Analysis/Usr Test":        "Analysis/User",
		"report usge":                         "Did you mean 'divvy report usage'?",
		"task show 99":                        "'divvy task list' has those there are.",
		"watch task 99":                       "'divvy task list' has those there are.",
		"job show 99":                         "'divvy job list --task TASK'",
		"job list --task 99":                  "'divvy task list' has those there are.",
		"task kill 99":                        "task 99: there is no such task",
		"task reassign --share Test 99":       "task 99: nothing moved: there is no such task",
		"job kill 99":                         "no such job",
		"task list --share Analysis/Usr":      `did you mean "Analysis/User"?`,
		"stock --share Analysis/Usr":          `did you mean "Analysis/User"?`,
		"stock --queue LOCA":                  `did you mean "LOCAL"?`,
		"resource-claim list --task 99":       "'divvy task list' has those there are.",
		"resource-claim list --resource maya": `"maya"`,
	} {
		o := divvy(t, append(strings.Fields(line), "--server", d.URL())...)
		if o.code != fail.Failed || !strings.Contains(o.err, want) {
			t.Errorf("divvy %s: code %d\n%swant %s", line, o.code, o.err, want)
		}
	}
}

// docs/commands.md lists every command that people see.
func TestCommandsPage(t *testing.T) {
	var page strings.Builder
	page.WriteString(`# Commands

<!-- Made from the commands by: go test ./cmd/divvy -run TestCommandsPage -update. -->

` + "`divvy <command> --help`" + ` has flags and examples; ` + "`make man`" + ` writes manual pages and completions. Commands that ask a daemon take ` +
		"`--server`, `--token-file`, `--ca`, `--cert`, `--cert-key` and `-o json|yaml|table`" + `.

`)
	root := cli.Tree(&cli.CLI{Streams: cli.StandardStreams()}, rootCommand)
	for _, cmd := range root.Commands() {
		if cmd.Hidden {
			continue
		}
		var verbs []string
		for _, sub := range cmd.Commands() {
			if !sub.Hidden {
				verbs = append(verbs, "`"+sub.Name()+"`")
			}
		}
		about := cmd.Short
		if verbs != nil {
			about = strings.Join(verbs, ", ")
		}
		fmt.Fprintf(&page, "- `%s`: %s\n", cmd.CommandPath(), about)
	}
	golden.Equal(t, "../../docs/commands.md", page.String())
}
