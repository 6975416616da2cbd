package slurm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/slurm"
)

// Labels of tasks, by which lists show what a task does not say otherwise.
const (
	labelArray     = "slurm_array"
	labelPartition = "slurm_partition"
	labelAccount   = "slurm_account"
	labelComment   = "slurm_comment"
)

// Settings of the environment.
const (
	minMemory = "DIVVY_SLURM_MIN_MEMORY_MB"
	taskLabel = "DIVVY_SLURM_LABEL"
)

// letters is the most that a label may have.
const letters = 200

// submit makes a task of a job and returns its id.
func (c *command) submit(ctx context.Context, j slurm.Job) (int64, error) {
	if err := c.partitions(ctx, j.Needs.Partitions); err != nil {
		return 0, err
	}
	spec, err := taskOf(j)
	if err != nil {
		return 0, err
	}
	if j.Account != "" {
		if err := c.account(ctx, &spec, j.Account); err != nil {
			return 0, err
		}
	}
	t, err := c.client.Tasks().Submit(ctx, spec, "")
	return t.ID, err
}

// partitions refuses a partition that is no queue.
func (c *command) partitions(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	queues, err := c.client.Queues().List(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(queues, func(q wire.QueueStanding) bool { return q.Name == name }) {
			return fmt.Errorf("Invalid partition name specified: %s; sinfo shows those that there are", name)
		}
	}
	return nil
}

// account gives a task the share of that path, else the working group of that name.
func (c *command) account(ctx context.Context, spec *wire.TaskSpec, name string) error {
	leaves, err := c.leaves(ctx)
	switch {
	case err != nil:
		return err
	case slices.Contains(leaves, name):
		spec.Share = name
	default:
		spec.WorkingGroup = name
	}
	return nil
}

// leaves are the paths of all shares that hold jobs.
func (c *command) leaves(ctx context.Context) (paths []string, err error) {
	standing, err := c.client.Shares().Standing(ctx)
	if err != nil {
		return nil, err
	}
	for _, pool := range standing.Pools {
		for _, s := range pool.Shares {
			if s.Leaf && !slices.Contains(paths, s.Path) {
				paths = append(paths, s.Path)
			}
		}
	}
	return paths, nil
}

// literal is a text of a task that has no placeholders.
func literal(text string) string { return strings.ReplaceAll(text, "{{", "{{{{") }

// taskOf is the task that a job is.
func taskOf(j slurm.Job) (wire.TaskSpec, error) {
	n := j.Needs
	spec := wire.TaskSpec{
		Name: word(j.Name), User: caller(), Label: cmp.Or(os.Getenv(taskLabel), "user"), Priority: j.Priority, Queues: n.Partitions, Count: 1, MaxFailures: 1,
		Requirements: wire.TaskRequirements{Cores: n.Cores(), MemoryMB: slurm.Megabytes(n.MemoryMiB), DiskMB: slurm.Megabytes(n.DiskMiB), Labels: n.Labels},
		Resources:    n.Licenses, Labels: map[string]string{},
	}
	if j.NoRequeue {
		spec.MaxAttempts = 1
	}
	if n.Time > 0 {
		spec.Requirements.Walltime = strconv.FormatInt(int64(n.Time/time.Second), 10) + "s"
	}
	for _, d := range j.After {
		when := "any"
		if d.OK {
			when = "done"
		}
		spec.Needs = append(spec.Needs, wire.Need{Task: d.Job, When: when})
	}
	for label, text := range map[string]string{labelPartition: strings.Join(n.Partitions, ","), labelAccount: j.Account, labelComment: j.Comment} {
		if text = word(text); text != "" {
			spec.Labels[label] = text
		}
	}
	if j.Array != nil {
		spec.Count, spec.MaxRunning = j.Array.Len(), j.Array.Limit
		for i, part := range chunks(j.Array.String()) {
			spec.Labels[numbered(labelArray, i)] = part
		}
	}
	spec.Command = []string{"/bin/sh", "-c", literal(j.Launcher()), "slurm_script", "{{.Index}}", literal(j.Script)}
	for _, arg := range j.Args {
		spec.Command = append(spec.Command, literal(arg))
	}
	if spec.Requirements.MemoryMB > 0 {
		least, err := leastMemory()
		if err != nil {
			return wire.TaskSpec{}, err
		}
		spec.Requirements.MemoryMB = max(spec.Requirements.MemoryMB, least)
	}
	host, _ := os.Hostname()
	dir, _ := os.Getwd()
	spec.Env = slurm.Exported(j.Export, os.Environ())
	maps.Copy(spec.Env, j.Environment(slurm.Host{User: spec.User, UID: strconv.Itoa(os.Getuid()), SubmitHost: host, SubmitDir: dir}))
	for name, text := range spec.Env {
		if !utf8.ValidString(text) || !utf8.ValidString(name) {
			delete(spec.Env, name) // it would arrive as another text
			continue
		}
		spec.Env[name] = literal(text)
	}
	return spec, nil
}

// leastMemory is what jobs ask for that ask for less. Many a Slurm only counts memory, so that users ask for too little; a pilot ends a
// job that takes more than it asked for.
func leastMemory() (int64, error) {
	text := os.Getenv(minMemory)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s=%q: expected a number of MB, such as 500", minMemory, text)
	}
	return n, nil
}

// word makes a name or a label of a text: no control characters, no blanks around it, not too long.
func word(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if r := []rune(text); len(r) > letters {
		text = string(r[:letters])
	}
	return strings.TrimSpace(text)
}

// chunks cuts the text of an array for labels.
func chunks(text string) (parts []string) {
	for len(text) > letters {
		parts, text = append(parts, text[:letters]), text[letters:]
	}
	return append(parts, text)
}

func numbered(label string, i int) string {
	if i == 0 {
		return label
	}
	return fmt.Sprintf("%s_%d", label, i)
}

// arrayOf is the array that a task is; nil if it is a single job.
func arrayOf(t wire.Task) *slurm.Array {
	text := ""
	for i := 0; ; i++ {
		part, ok := t.Attributes["labels."+numbered(labelArray, i)]
		if !ok {
			break
		}
		text += part
	}
	if text == "" {
		if t.Pieces <= 1 {
			return nil
		}
		return &slurm.Array{Runs: []slurm.Run{{First: 0, Step: 1, N: t.Pieces}}}
	}
	a, err := slurm.ParseArray(text)
	if err != nil {
		return nil
	}
	return &a
}
