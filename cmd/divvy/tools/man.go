package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
)

// manDate is that of the pages: the same text gives the same pages, whenever they are made.
var manDate = time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)

// Man writes what packagers install: manual pages and completions.
func Man(c *cli.CLI) *cobra.Command {
	var completions string
	cmd := &cobra.Command{
		Use:   "man DIR",
		Short: "Write manual pages, one a command, and completions of shells",
		Long: `Write manual pages into a folder, which is made if need be: divvy.1, divvy-task.1, divvy-task-submit.1 and so on. With --completions, write
those of bash, zsh and fish into another one.`,
		Example: "  divvy man /usr/local/share/man/man1\n  divvy man man --completions completions",
		Args:    cli.Takes("DIR, a folder"),
	}
	cmd.Flags().StringVar(&completions, "completions", "", "folder for divvy.bash, _divvy and divvy.fish")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		root := cmd.Root()
		n, err := writeManual(root, args[0])
		if err != nil {
			return err
		}
		fmt.Fprintf(c.Out, "%d pages in %s\n", n, args[0])
		if completions == "" {
			return nil
		}
		return writeCompletions(root, completions)
	}
	return cmd
}

func writeManual(root *cobra.Command, dir string) (int, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	root.DisableAutoGenTag = true
	setBlocks(root)
	head := &doc.GenManHeader{Section: "1", Source: "divvy", Manual: "divvy", Date: &manDate}
	if err := doc.GenManTree(root, head, dir); err != nil {
		return 0, fmt.Errorf("manual pages: %w", err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "divvy*.1"))
	return len(pages), err
}

// listed is a run of indented lines below an empty one.
var listed = regexp.MustCompile(`(?m)(?:\A|\n\n)(?: {2,}\S.*\n?)+`)

// setBlocks has lists in long texts stay as they are written: the pages are made of Markdown, which takes the spaces of a
// paragraph's first line away, and leaves a block that is indented by four.
func setBlocks(cmd *cobra.Command) {
	cmd.Long = listed.ReplaceAllStringFunc(cmd.Long, func(list string) string {
		return strings.ReplaceAll(list, "\n  ", "\n      ")
	})
	for _, sub := range cmd.Commands() {
		setBlocks(sub)
	}
}

func writeCompletions(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, write := range map[string]func(string) error{
		"divvy.bash": func(file string) error { return root.GenBashCompletionFileV2(file, true) },
		"_divvy":     root.GenZshCompletionFile,
		"divvy.fish": func(file string) error { return root.GenFishCompletionFile(file, true) },
	} {
		if err := write(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("completions: %w", err)
		}
	}
	return nil
}
