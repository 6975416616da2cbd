package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/divvyhq/divvy/internal/site/strict"
)

// noSuchCommand refuses what is no subcommand of a group, and names what may have been meant: one whose name is near, or
// those of groups below that have the name.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names, below []string
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		names = append(append(names, sub.Name()), sub.Aliases...)
		for _, deeper := range sub.Commands() {
			if deeper.IsAvailableCommand() && (deeper.Name() == args[0] || deeper.HasAlias(args[0])) {
				below = append(below, "'"+deeper.CommandPath()+"'")
			}
		}
	}
	err := usagef("unknown command %q for %q", args[0], cmd.CommandPath())
	if near := strict.Closest(args[0], names); near != "" {
		return hintf(err, "Did you mean '%s %s'?", cmd.CommandPath(), near)
	}
	if len(below) > 0 {
		return hintf(err, "Did you mean %s?", strings.Join(below, " or "))
	}
	return hintf(err, "See '%s --help'.", cmd.CommandPath())
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
