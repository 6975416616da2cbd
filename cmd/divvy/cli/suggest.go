package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/site/strict"
)

// NoSuchCommand refuses what is no subcommand of a group, and names what may have been meant: one whose name is near, or
// those of groups below that have the name.
func NoSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	unknown := fail.Usagef("unknown command %q for %q", args[0], cmd.CommandPath())
	var names, below []string
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		names = append(append(names, sub.Name()), sub.Aliases...)
		if slices.Contains(ForeignWords[Name(sub)], args[0]) {
			return fail.Hintf(unknown, "Did you mean '%s'?", sub.CommandPath())
		}
		for _, deeper := range sub.Commands() {
			if deeper.IsAvailableCommand() && (deeper.Name() == args[0] || deeper.HasAlias(args[0])) {
				below = append(below, "'"+deeper.CommandPath()+"'")
			}
		}
	}
	if hint := instead[args[0]]; hint != "" && !cmd.HasParent() {
		return fail.Hintf(unknown, "%s", hint)
	}
	if near := strict.Closest(args[0], names); near != "" {
		return fail.Hintf(unknown, "Did you mean '%s %s'?", cmd.CommandPath(), near)
	}
	if len(below) > 0 {
		return fail.Hintf(unknown, "Did you mean %s?", strings.Join(below, " or "))
	}
	return fail.Hintf(unknown, "See '%s --help'.", cmd.CommandPath())
}

// ForeignWords are the words of other systems for a command.
var ForeignWords = map[string][]string{
	"shares show":   {"list", "ls", "tree", "get"},
	"shares why":    {"explain"},
	"task kill":     {"cancel", "delete", "rm", "stop", "abort"},
	"task pause":    {"suspend", "hold", "stop"},
	"task resume":   {"release", "start", "unpause"},
	"task submit":   {"create", "run", "add", "apply"},
	"task show":     {"status", "get", "describe"},
	"job kill":      {"cancel", "delete", "rm", "stop", "abort"},
	"job show":      {"status", "get", "describe"},
	"queue offline": {"disable", "remove", "stop"},
	"queue online":  {"enable", "start"},
	"queue show":    {"status", "get", "describe"},
	"token create":  {"add", "new", "issue"},
	"token revoke":  {"delete", "rm", "remove"},
	"apply":         {"deploy", "configure"},
}

// instead says what to do where there is no such command, and none that does the same.
var instead = map[string]string{
	"init":   "Nothing needs to be made first: 'divvy serve' makes its database, 'divvy apply' brings the site file.",
	"cancel": "'divvy task kill TASK' ends a task, 'divvy job kill JOB' a job.",
}

// nearFlag names the flag that was meant; empty: none is near.
func nearFlag(cmd *cobra.Command, word string) string {
	var names []string
	note := func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	}
	cmd.Flags().VisitAll(note)
	cmd.InheritedFlags().VisitAll(note)
	if near := strict.Closest(word, names); near != "" {
		return "Did you mean --" + near + "? See '" + cmd.CommandPath() + " --help'."
	}
	return ""
}
