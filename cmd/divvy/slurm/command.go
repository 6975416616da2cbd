package slurm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/slurm"
)

// Command is the command 'divvy slurm'.
func Command(c *cli.CLI) *cobra.Command {
	var b strings.Builder
	b.WriteString("Commands in Slurm's words, for programs that submit to Slurm. An option that is not below is refused by name.\n")
	for _, name := range slurm.Commands {
		b.WriteString("\n" + Help(name))
	}
	group := &cobra.Command{Use: "slurm", Short: "Slurm's commands: sbatch, squeue, sacct and others", Long: b.String(), Example: "  divvy slurm install ~/slurm && export PATH=~/slurm:$PATH"}
	install := &cobra.Command{
		Use:   "install DIR",
		Short: "Put sbatch, squeue, sacct and others into a folder",
		Long: `Put sbatch, srun, squeue, sacct, scancel, scontrol, sinfo, sacctmgr and sshare into a folder, for the begin of PATH. They are scripts of
two lines that call this program, with the server, token file and certificates of this command line. A token is not written.`,
		Example: "  divvy slurm install ~/slurm --server http://divvy:8470",
		Args:    cli.Takes("DIR, a folder"),
	}
	install.RunE = func(_ *cobra.Command, args []string) error {
		n, err := Install(c, args[0])
		if err != nil {
			return err
		}
		fmt.Fprintf(c.Out, "%d commands in %s. Use them: export PATH=%s:$PATH\n", n, args[0], slurm.Quote(args[0]))
		return nil
	}
	group.AddCommand(install)
	for _, name := range slurm.Commands {
		// Run has them before this tree is made, for speed; here they are for those who look.
		group.AddCommand(&cobra.Command{Use: name, Short: "Slurm's " + name, Hidden: true, DisableFlagParsing: true, RunE: func(cmd *cobra.Command, args []string) error {
			if code := Run(cmd.Context(), c.Streams, name, args); code != 0 {
				return fail.Code(code)
			}
			return nil
		}})
	}
	return group
}

// mark is in each script of Install: other files are not replaced.
const mark = "# by 'divvy slurm install'"

// Install writes the commands into a folder and returns how many they are.
func Install(c *cli.CLI, dir string) (n int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("path of this program: %w", err)
	}
	settings, err := installed(c)
	if err != nil {
		return 0, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // commands are for all users
		return 0, err
	}
	for _, name := range slurm.Commands {
		old, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil && !strings.Contains(string(old), mark) {
			return 0, fail.Hintf(fmt.Errorf("%s is another program", filepath.Join(dir, name)), "Choose a folder of its own.")
		}
	}
	for _, name := range slurm.Commands {
		text := fmt.Sprintf("#!/bin/sh\n%sexec %s slurm %s \"$@\" %s\n", settings, slurm.Quote(self), name, mark)
		file := filepath.Join(dir, name)
		// A new file in place of the old one: that may be running.
		err := errors.Join(os.WriteFile(file+".new", []byte(text), 0o755), os.Chmod(file+".new", 0o755), os.Rename(file+".new", file)) //nolint:gosec // commands are for all users
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// installed are shell assignments of the settings that the command line or the environment has; a variable goes over them.
func installed(c *cli.CLI) (string, error) {
	var b strings.Builder
	set := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "[ \"${%s+x}\" ] || export %s=%s\n", name, name, slurm.Quote(value))
		}
	}
	set("DIVVY_SERVER", c.Server)
	for _, f := range []struct{ name, file string }{
		{"DIVVY_TOKEN_FILE", c.TokenFile}, {"DIVVY_CA", c.TLS.CA}, {"DIVVY_CERT", c.TLS.Cert}, {"DIVVY_CERT_KEY", c.TLS.Key}} {
		file := f.file
		if file == "" && f.name == "DIVVY_TOKEN_FILE" {
			file = os.Getenv(f.name)
		}
		if file == "" {
			continue
		}
		file, err := filepath.Abs(file)
		if err != nil {
			return "", err
		}
		set(f.name, file)
	}
	for _, name := range []string{taskLabel, minMemory} {
		set(name, os.Getenv(name))
	}
	return b.String(), nil
}
