package slurm

import (
	"fmt"
	"strconv"
	"strings"
)

// Launcher returns shell text that runs a job: $1 is the number of its piece, $2 the script, what follows the script's arguments. It
// expects the DIVVY_ variables of a pilot and those of Environment.
func (j *Job) Launcher() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(`say() { echo "slurm: $1" >&2; exit 1; }`)
	line(`s=$DIVVY_WORK/slurm_script i=$1`)
	run := `"$s"`
	if j.plain() {
		line(`printf %%s "$2" >"$s" || say "cannot write $s"`)
		run = `/bin/sh "$s"`
	} else {
		line(`printf %%s "$2" >"$s" && chmod 700 "$s" || say "cannot write $s"`)
	}
	line(`shift 2`)
	line(`{ read -r n </proc/sys/kernel/hostname; } 2>/dev/null || n=$(uname -n)`)
	line(`SLURM_JOB_PARTITION=$DIVVY_QUEUE SLURM_TASK_PID=$$`)
	line(`SLURMD_NODENAME=${n%%%%.*}; SLURM_JOB_NODELIST=$SLURMD_NODENAME SLURM_NODELIST=$SLURMD_NODENAME`)
	if j.Array == nil {
		line(`SLURM_JOB_ID=$DIVVY_TASK`)
	} else {
		line(`SLURM_JOB_ID=$((%d + DIVVY_JOB)) SLURM_ARRAY_JOB_ID=$DIVVY_TASK`, RawBase)
		line(`%s`, j.Array.shell())
		line(`export SLURM_ARRAY_JOB_ID SLURM_ARRAY_TASK_ID`)
	}
	line(`SLURM_JOBID=$SLURM_JOB_ID; export SLURM_JOB_ID SLURM_JOBID SLURM_JOB_PARTITION SLURM_TASK_PID SLURMD_NODENAME SLURM_JOB_NODELIST SLURM_NODELIST`)
	line(`if [ "$DIVVY_ATTEMPT" -gt 1 ]; then SLURM_RESTART_COUNT=$((DIVVY_ATTEMPT - 1)); export SLURM_RESTART_COUNT; fi`)
	line(`cd -- %s || say "cannot enter the folder of the job"`, Quote(j.Files.Dir))
	if j.Needs.Time > 0 {
		line(`SLURM_JOB_START_TIME=${DIVVY_STARTED:-$(date +%%s)}; SLURM_JOB_END_TIME=$((SLURM_JOB_START_TIME + DIVVY_WALLTIME_S)); export SLURM_JOB_START_TIME SLURM_JOB_END_TIME`)
	}
	b.WriteString(j.redirections())
	if j.Signal.Name != "" && j.Signal.Batch && j.Needs.Time > 0 {
		// Twice in the background: the script gets no child that it did not start.
		wait := max(0, int64(j.Needs.Time.Seconds())-j.Signal.Seconds)
		line(`( (sleep %d; kill -%s $$) >/dev/null 2>&1 & )`, wait, j.Signal.Name)
	}
	line(`umask %04o`, j.Umask)
	line(`exec %s "$@"`, run)
	return b.String()
}

// plain reports whether the script can run without being made executable, which costs a process: it is for /bin/sh and does not name itself.
func (j *Job) plain() bool {
	return strings.HasPrefix(j.Script, "#!/bin/sh\n") && !strings.Contains(j.Script, "$0") && !strings.Contains(j.Script, "${0")
}

// redirections open the files of a job. A file that cannot be opened is said in the job's log in divvy.
func (j *Job) redirections() string {
	var b strings.Builder
	mode := ">"
	if j.Files.Append {
		mode = ">>"
	}
	open := func(fd, mode, name string) {
		word := shellName(name)
		fmt.Fprintf(&b, "f=%s; { true %s\"$f\"; } 2>/dev/null || say \"cannot open $f\"\n", word, mode)
		fmt.Fprintf(&b, "exec %s%s\"$f\"\n", fd, mode)
	}
	input := j.Files.Input
	if input == "" {
		input = "/dev/null"
	}
	if j.Files.Error != "" && j.Files.Error != j.Files.Output {
		open("", "<", input)
		open("3", mode, j.Files.Output)
		open("2", mode, j.Files.Error)
		return b.String() + "exec 1>&3 3>&-\n"
	}
	open("", "<", input)
	if j.Files.Output == "" { // what the job prints stays divvy's
		return b.String()
	}
	open("1", mode, j.Files.Output)
	return b.String() + "exec 2>&1\n"
}

// shell sets SLURM_ARRAY_TASK_ID by $i.
func (a Array) shell() string {
	var b strings.Builder
	begin := int64(0)
	for k, r := range a.Runs {
		if k > 0 {
			b.WriteString("el")
		}
		fmt.Fprintf(&b, "if [ \"$i\" -lt %d ]; then SLURM_ARRAY_TASK_ID=$((%d + (i - %d) * %d)); ", begin+r.N, r.First, begin, r.Step)
		begin += r.N
	}
	return b.String() + "fi"
}

// Host is what a job is told about where it comes from.
type Host struct {
	User, UID, SubmitHost, SubmitDir string
}

// Environment is what a job has beside the variables that its submitter exports: those of Slurm that are known at submission.
func (j *Job) Environment(h Host) map[string]string {
	n := j.Needs
	cores := strconv.Itoa(n.Cores())
	env := map[string]string{
		"SLURM_JOB_NAME": j.Name, "SLURM_JOB_USER": h.User, "SLURM_JOB_UID": h.UID, "SLURM_SUBMIT_HOST": h.SubmitHost, "SLURM_SUBMIT_DIR": h.SubmitDir,
		"SLURM_CLUSTER_NAME": "divvy", "SLURM_JOB_NUM_NODES": "1", "SLURM_NNODES": "1", "SLURM_NODEID": "0", "SLURM_PROCID": "0", "SLURM_LOCALID": "0",
		"SLURM_CPUS_ON_NODE": cores, "SLURM_JOB_CPUS_PER_NODE": cores, "SLURM_TASKS_PER_NODE": strconv.Itoa(n.Tasks), "SLURM_GTIDS": "0", "ENVIRONMENT": "BATCH",
	}
	if j.Account != "" {
		env["SLURM_JOB_ACCOUNT"] = j.Account
	}
	if n.SaidCPUs {
		env["SLURM_CPUS_PER_TASK"] = strconv.Itoa(n.CPUs)
	}
	if n.SaidTasks {
		env["SLURM_NTASKS"], env["SLURM_NPROCS"] = strconv.Itoa(n.Tasks), strconv.Itoa(n.Tasks)
	}
	switch {
	case n.MemoryMiB > 0 && n.PerCPU:
		env["SLURM_MEM_PER_CPU"] = strconv.FormatInt(n.MemoryMiB/int64(n.Cores()), 10)
	case n.MemoryMiB > 0:
		env["SLURM_MEM_PER_NODE"] = strconv.FormatInt(n.MemoryMiB, 10)
	}
	if a := j.Array; a != nil {
		least, largest := a.Bounds()
		env["SLURM_ARRAY_TASK_COUNT"] = strconv.FormatInt(a.Len(), 10)
		env["SLURM_ARRAY_TASK_MIN"], env["SLURM_ARRAY_TASK_MAX"] = strconv.FormatInt(least, 10), strconv.FormatInt(largest, 10)
		env["SLURM_ARRAY_TASK_STEP"] = strconv.FormatInt(a.Step(), 10)
	}
	if s := j.Signal; s.Name != "" && !s.Batch {
		env["DIVVY_SLURM_SIGNAL"] = fmt.Sprintf("%s@%d", s.Name, s.Seconds) // for our srun
	}
	return env
}

// Exported returns the variables that --export lets travel. Slurm's own never do, nor divvy's: one of them is a token.
func Exported(export string, environ []string) map[string]string {
	all := map[string]string{}
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		if ok && name != "" && !private(name) {
			all[name] = value
		}
	}
	switch strings.ToUpper(export) {
	case "", "ALL":
		return all
	case "NONE", "NIL":
		return login(all)
	}
	env := login(all)
	for part := range strings.SplitSeq(export, ",") {
		name, value, set := strings.Cut(part, "=")
		switch v, known := all[name]; {
		case strings.EqualFold(part, "ALL"):
			for k, v := range all {
				if _, given := env[k]; !given {
					env[k] = v
				}
			}
		case set && name != "":
			env[name] = value
		case known:
			env[name] = v
		}
	}
	return env
}

// login is what a job has of its submitter's environment even with --export=NONE.
func login(all map[string]string) map[string]string {
	env := map[string]string{}
	for _, name := range []string{"HOME", "PATH", "USER", "LOGNAME", "SHELL"} {
		if v, ok := all[name]; ok {
			env[name] = v
		}
	}
	return env
}

func private(name string) bool {
	switch name {
	case "DIVVY_SERVER", "DIVVY_TOKEN_FILE", "DIVVY_CA": // paths and addresses, so that a job can submit others
		return false
	case "PWD", "OLDPWD", "SHLVL", "_":
		return true
	}
	return strings.HasPrefix(name, "SLURM_") || strings.HasPrefix(name, "DIVVY_")
}
