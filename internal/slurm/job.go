package slurm

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"
)

// Any is the partition that stands for all queues; sinfo shows it as the default.
const Any = "any"

// Job is what sbatch is to submit.
type Job struct {
	Name      string
	Script    string
	Args      []string
	Files     Files
	Needs     Needs
	Array     *Array
	After     []Dependency
	Account   string
	Comment   string
	Priority  int
	NoRequeue bool
	Signal    Signal
	Export    string // value of --export
	Umask     int
}

// Files are where a job runs, and the names of its files.
type Files struct {
	Dir, Input, Output, Error string
	Append                    bool
}

// Needs are what a job needs of a slot.
type Needs struct {
	Partitions []string // none = any
	CPUs       int      // of a task
	Tasks      int
	MemoryMiB  int64 // of the whole job; 0 = not said
	PerCPU     bool  // it was said by --mem-per-cpu
	DiskMiB    int64
	Time       time.Duration // 0 = no limit
	Labels     map[string]string
	Licenses   map[string]int64
	SaidCPUs   bool
	SaidTasks  bool
}

// Cores is how many a job has.
func (n Needs) Cores() int { return n.CPUs * n.Tasks }

// NewJob reads the options of a job. Dir is where sbatch runs.
func NewJob(g Given, dir string) (Job, error) {
	j := Job{Name: g.Get("job-name"), Account: g.Get("account"), Comment: g.Get("comment"), Export: g.Get("export"), NoRequeue: g.Has("no-requeue") && !g.Has("requeue")}
	j.Files = Files{Dir: dir, Input: g.Get("input"), Output: g.Get("output"), Error: g.Get("error")}
	if d := g.Get("chdir"); d != "" {
		if j.Files.Dir = d; !path.IsAbs(d) {
			j.Files.Dir = path.Join(dir, d)
		}
	}
	var errs [6]error
	errs[0] = j.openMode(g.Get("open-mode"))
	if g.Has("array") {
		a, err := ParseArray(g.Get("array"))
		j.Array, errs[1] = &a, err
	}
	if d := g.Get("dependency"); d != "" {
		j.After, errs[2] = ParseDependencies(d)
	}
	if v := g.Get("kill-on-invalid-dep"); v != "" && !strings.HasPrefix(strings.ToLower(v), "y") {
		return Job{}, fmt.Errorf("--kill-on-invalid-dep=%s is not known to divvy: a job whose dependency failed is cancelled", v)
	}
	errs[3] = j.rank(g)
	if s := g.Get("signal"); s != "" {
		j.Signal, errs[4] = ParseSignal(s)
	}
	j.Needs, errs[5] = newNeeds(g)
	if j.Files.Output == "" {
		if j.Files.Output = "slurm-%j.out"; j.Array != nil {
			j.Files.Output = "slurm-%A_%a.out"
		}
	}
	return j, errors.Join(errs[:]...)
}

func (j *Job) openMode(mode string) error {
	switch mode {
	case "", "truncate":
	case "append":
		j.Files.Append = true
	default:
		return fmt.Errorf("Invalid --open-mode argument: %s: expected append or truncate", mode)
	}
	return nil
}

// rank reads the priority: --nice lowers it, by 100 without a number.
func (j *Job) rank(g Given) error {
	for _, option := range []string{"priority", "nice"} {
		if !g.Has(option) {
			continue
		}
		text := g.Get(option)
		if text == "" {
			text = "100"
		}
		n, err := strconv.Atoi(text)
		if err != nil || n > 1_000_000_000 || n < -1_000_000_000 {
			return fmt.Errorf("invalid number %q of --%s", text, option)
		}
		if option == "nice" {
			n = -n
		}
		j.Priority += n
	}
	return nil
}

func newNeeds(g Given) (n Needs, err error) {
	n.CPUs, n.Tasks = 1, 1
	set := func(option string, to *int) {
		if text := g.Get(option); text != "" && err == nil {
			*to, err = count(option, text)
		}
	}
	set("cpus-per-task", &n.CPUs)
	set("ntasks-per-node", &n.Tasks)
	set("ntasks", &n.Tasks)
	n.SaidCPUs, n.SaidTasks = g.Has("cpus-per-task"), g.Has("ntasks") || g.Has("ntasks-per-node")
	if v := g.Get("nodes"); v != "" && v != "1" && v != "1-1" && err == nil {
		err = fmt.Errorf("--nodes=%s is not known to divvy: a job runs on one node", v)
	}
	if v := g.Get("partition"); v != "" && v != Any {
		n.Partitions = strings.Split(v, ",")
	}
	if v := g.Get("time"); v != "" && err == nil {
		n.Time, err = ParseTime(v)
	}
	if err == nil {
		err = n.memory(g)
	}
	if v := g.Get("tmp"); v != "" && err == nil {
		n.DiskMiB, err = ParseMiB("tmp", v)
	}
	if v := g.Get("constraint"); v != "" && err == nil {
		n.Labels, err = parseLabels(v)
	}
	if v := g.Get("licenses"); v != "" && err == nil {
		n.Licenses, err = parseLicenses(v)
	}
	return n, err
}

func (n *Needs) memory(g Given) (err error) {
	switch node, cpu := g.Get("mem"), g.Get("mem-per-cpu"); {
	case cpu != "" && node == "":
		n.PerCPU = true
		n.MemoryMiB, err = ParseMiB("mem-per-cpu", cpu)
		n.MemoryMiB *= int64(n.Cores())
	case node != "":
		n.MemoryMiB, err = ParseMiB("mem", node)
	}
	return err
}

func parseLabels(text string) (map[string]string, error) {
	labels := map[string]string{}
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '&' || r == ',' }) {
		key, value, ok := strings.Cut(part, "=")
		if !ok || key == "" || value == "" || strings.ContainsAny(part, "|*()[] ") {
			return nil, fmt.Errorf("Invalid feature specification: --constraint=%s: expected labels of queues, such as os=el9&gpu=a100", text)
		}
		labels[key] = value
	}
	return labels, nil
}

func parseLicenses(text string) (map[string]int64, error) {
	units := map[string]int64{}
	for part := range strings.SplitSeq(text, ",") {
		i := strings.LastIndexByte(part, ':')
		name, n := part, int64(1)
		if i > 0 {
			v, err := strconv.ParseUint(part[i+1:], 10, 31)
			if err != nil || v == 0 {
				return nil, fmt.Errorf("Invalid license specification: %s: expected resources of the site, such as maya:2", text)
			}
			name, n = part[:i], int64(v)
		}
		units[name] = n
	}
	return units, nil
}

// Signal is sent to a job some seconds before its time limit. Name is empty if none is.
type Signal struct {
	Name    string // without SIG
	Seconds int64
	Batch   bool // to the script alone; else to the programs of its srun
}

// ParseSignal reads [B:]SIG@SECONDS.
func ParseSignal(text string) (s Signal, err error) {
	wrong := fmt.Errorf("Invalid --signal specification %q: expected [B:]SIGNAL[@SECONDS], such as B:USR2@30", text)
	rest := text
	for {
		flags, after, ok := strings.Cut(rest, ":")
		if !ok {
			break
		}
		if strings.Trim(flags, "BR") != "" || flags == "" {
			return Signal{}, wrong
		}
		s.Batch, rest = s.Batch || strings.Contains(flags, "B"), after
	}
	name, seconds, timed := strings.Cut(rest, "@")
	s.Seconds = 60
	if timed {
		n, err := strconv.ParseUint(seconds, 10, 16)
		if err != nil {
			return Signal{}, wrong
		}
		s.Seconds = int64(n)
	}
	if s.Name = strings.TrimPrefix(strings.ToUpper(name), "SIG"); s.Name == "" || strings.Trim(s.Name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
		return Signal{}, wrong
	}
	return s, nil
}
