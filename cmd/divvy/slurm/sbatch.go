package slurm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/divvyhq/divvy/internal/slurm"
)

// sbatch submits a script.
func sbatch(ctx context.Context, c *command) error {
	j, g, err := c.read()
	if err != nil {
		return err
	}
	id, err := c.submit(ctx, j)
	if err != nil {
		return fmt.Errorf("Batch job submission failed: %w", err)
	}
	switch {
	case g.Has("quiet"):
	case g.Has("parsable"):
		fmt.Fprintf(c.Out, "%d\n", id)
	default:
		fmt.Fprintf(c.Out, "Submitted batch job %d\n", id)
	}
	if !g.Has("wait") {
		return nil
	}
	return c.await(ctx, id)
}

// read makes a job of the command line, the variables and the script's own options.
func (c *command) read() (slurm.Job, slurm.Given, error) {
	name, script, args, err := c.script()
	if err != nil {
		return slurm.Job{}, c.given, err
	}
	if err := slurm.CheckScript(script); err != nil {
		return slurm.Job{}, c.given, err
	}
	own, err := slurm.Directives(script)
	if err != nil {
		return slurm.Job{}, c.given, err
	}
	g := c.given.Over(slurm.FromEnvironment(c.name, os.LookupEnv)).Over(own)
	dir, err := os.Getwd()
	if err != nil {
		return slurm.Job{}, g, err
	}
	j, err := slurm.NewJob(g, dir)
	if err != nil {
		return slurm.Job{}, g, err
	}
	if j.Name == "" {
		j.Name = name
	}
	j.Script, j.Args, j.Umask = script, args, umask()
	return j, g, nil
}

// umask reads the mask by setting it twice: there is no other way.
func umask() int {
	m := syscall.Umask(0o022)
	syscall.Umask(m)
	return m
}

// mostScript bounds what is read: a job's command and environment have 128 KiB in all.
const mostScript = 1 << 20

// script returns the text to run, what the job is called by it, and its arguments.
func (c *command) script() (name, text string, args []string, err error) {
	if c.given.Has("wrap") {
		if len(c.given.Args) > 0 {
			return "", "", nil, errors.New("Script arguments not permitted with --wrap option")
		}
		return "wrap", "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n" + c.given.Get("wrap") + "\n", nil, nil
	}
	if len(c.given.Args) == 0 {
		b, err := io.ReadAll(io.LimitReader(c.In, mostScript))
		return "sbatch", string(b), nil, err
	}
	file := c.given.Args[0]
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) && !strings.Contains(file, "/") {
		for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
			if g, err := os.Open(filepath.Join(dir, file)); err == nil { //nolint:gosec // the user's own script, found in the PATH as Slurm does
				f = g
				break
			}
		}
	}
	if f == nil {
		return "", "", nil, fmt.Errorf("Unable to open file %s", file)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostScript))
	return filepath.Base(file), string(b), c.given.Args[1:], err
}
