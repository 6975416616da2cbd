package slurm

// Tables are the options of each command. An option that is not here is refused by name.
var Tables = map[string][]Option{
	"sbatch":   sbatchOptions,
	"srun":     srunOptions,
	"squeue":   squeueOptions,
	"sacct":    sacctOptions,
	"scancel":  scancelOptions,
	"scontrol": scontrolOptions,
	"sinfo":    sinfoOptions,
	"sacctmgr": sacctmgrOptions,
	"sshare":   sshareOptions,
}

// Commands are those that 'divvy slurm install' puts into a folder, in the order in which help has them.
var Commands = []string{"sbatch", "srun", "squeue", "sacct", "scancel", "scontrol", "sinfo", "sacctmgr", "sshare"}

var sbatchOptions = []Option{
	{"account", 'A', Required, "share of the job if a leaf has this path, else its working_group", "SBATCH_ACCOUNT"},
	{"array", 'a', Required, "one piece for each index, and behind % how many run at once", "SBATCH_ARRAY_INX"},
	{"chdir", 'D', Required, "folder in which the script runs", ""},
	{"comment", 0, Required, "kept, and shown by scontrol", ""},
	{"constraint", 'C', Required, "labels of the slot: os=el9&gpu=a100", "SBATCH_CONSTRAINT"},
	{"cpus-per-task", 'c', Required, "cores, times --ntasks", ""},
	{"dependency", 'd', Required, "afterok:ID and afterany:ID of whole jobs, all of them", ""},
	{"error", 'e', Required, "file of stderr, with %j %A %a %x %u %N", "SBATCH_ERROR"},
	{"export", 0, Required, "variables that travel: ALL, NONE, names, NAME=VALUE", "SBATCH_EXPORT"},
	{"input", 'i', Required, "file of stdin", "SBATCH_INPUT"},
	{"job-name", 'J', Required, "name", "SBATCH_JOB_NAME"},
	{"kill-on-invalid-dep", 0, Required, "only yes, which divvy does always", "SBATCH_KILL_INVALID_DEP"},
	{"licenses", 'L', Required, "units of resources: maya:2", ""},
	{"mem", 0, Required, "memory, in MiB or with K M G T", "SBATCH_MEM_PER_NODE"},
	{"mem-per-cpu", 0, Required, "the same, times the cores", "SBATCH_MEM_PER_CPU"},
	{"nice", 0, Optional, "priority below that of the user's other jobs", ""},
	{"no-requeue", 0, None, "a job whose pilot is lost does not run again", "SBATCH_NO_REQUEUE"},
	{"nodes", 'N', Required, "only 1", ""},
	{"ntasks", 'n', Required, "cores, times --cpus-per-task", ""},
	{"ntasks-per-node", 0, Required, "as --ntasks", ""},
	{"open-mode", 0, Required, "append or truncate the files of output", "SBATCH_OPEN_MODE"},
	{"output", 'o', Required, "file of stdout, and of stderr without --error", "SBATCH_OUTPUT"},
	{"parsable", 0, None, "print the id alone", ""},
	{"partition", 'p', Required, "queue; 'any' = all", "SBATCH_PARTITION"},
	{"priority", 0, Required, "priority within the share", ""},
	{"quiet", 'Q', None, "print nothing", ""},
	{"requeue", 0, None, "a job whose pilot is lost runs again (the default)", "SBATCH_REQUEUE"},
	{"signal", 0, Required, "[B:]SIG@SECONDS before the time limit", "SBATCH_SIGNAL"},
	{"time", 't', Required, "time limit", "SBATCH_TIMELIMIT"},
	{"tmp", 0, Required, "scratch space, in MiB or with K M G T", ""},
	{"wait", 'W', None, "wait for the end; the exit code is the job's", "SBATCH_WAIT"},
	{"wrap", 0, Required, "the script's text", ""},
	{Long: "acctg-freq", Takes: Required}, {Long: "clusters", Short: 'M', Takes: Required}, {Long: "contiguous"},
	{Long: "cores-per-socket", Takes: Required}, {Long: "cpus-per-gpu", Takes: Required}, {Long: "distribution", Short: 'm', Takes: Required},
	{Long: "exclude", Short: 'x', Takes: Required}, {Long: "exclusive", Takes: Optional}, {Long: "gpu-bind", Takes: Required},
	{Long: "gpus", Short: 'G', Takes: Required}, {Long: "gpus-per-node", Takes: Required}, {Long: "gpus-per-task", Takes: Required},
	{Long: "gres", Takes: Required}, {Long: "hint", Takes: Required}, {Long: "mail-type", Takes: Required}, {Long: "mail-user", Takes: Required},
	{Long: "mem-bind", Takes: Required}, {Long: "mem-per-gpu", Takes: Required}, {Long: "no-kill", Short: 'k', Takes: Optional}, {Long: "nodelist", Short: 'w', Takes: Required},
	{Long: "ntasks-per-core", Takes: Required}, {Long: "ntasks-per-socket", Takes: Required}, {Long: "overcommit", Short: 'O'},
	{Long: "oversubscribe", Short: 's'}, {Long: "profile", Takes: Required}, {Long: "propagate", Takes: Optional}, {Long: "qos", Short: 'q', Takes: Required},
	{Long: "reservation", Takes: Required}, {Long: "threads-per-core", Takes: Required}, {Long: "verbose", Short: 'v'}, {Long: "wckey", Takes: Required},
}

var srunOptions = append([]Option{
	{"label", 'l', None, "put the number of the task before each line", ""},
	{Long: "cpu-bind", Takes: Required}, {Long: "unbuffered", Short: 'u'}, {Long: "jobid", Takes: Required}, {Long: "mpi", Takes: Required},
	{Long: "kill-on-bad-exit", Short: 'K', Takes: Optional}, {Long: "overlap"}, {Long: "exact"}, {Long: "pty"}, {Long: "multi-prog"}, {Long: "slurmd-debug", Takes: Required},
}, without(sbatchOptions, "array", "parsable", "wait", "wrap", "no-requeue", "requeue", "signal", "quiet")...)

// without returns the options but for some; what is left has no variables, which are sbatch's.
func without(all []Option, names ...string) (some []Option) {
	for _, o := range all {
		keep := true
		for _, name := range names {
			keep = keep && o.Long != name
		}
		if keep {
			o.Env = ""
			some = append(some, o)
		}
	}
	return some
}

var squeueOptions = []Option{
	{"array", 'r', None, "one line for each piece of an array", ""},
	{"format", 'o', Required, "columns: %i %T %.18j …", ""},
	{"jobs", 'j', Optional, "these jobs", ""},
	{"me", 0, None, "jobs of the caller", ""},
	{"name", 'n', Required, "jobs with these names", ""},
	{"noheader", 'h', None, "no line of titles", ""},
	{"partition", 'p', Required, "jobs of these partitions", ""},
	{"states", 't', Required, "jobs in these states; all = those that ended in the last 300 s too", ""},
	{"user", 'u', Required, "jobs of these users", ""},
	{Long: "account", Short: 'A', Takes: Required}, {Long: "all", Short: 'a'}, {Long: "clusters", Short: 'M', Takes: Required}, {Long: "long", Short: 'l'}, {Long: "only-job-state"},
	{Long: "sort", Short: 'S', Takes: Required}, {Long: "start"}, {Long: "verbose", Short: 'v'},
}

var sacctOptions = []Option{
	{"allusers", 'a', None, "jobs of all users", ""},
	{"endtime", 'E', Required, "jobs that began before", ""},
	{"format", 'o', Required, "columns: JobIDRaw,State%20 …", ""},
	{"jobs", 'j', Required, "these jobs", ""},
	{"name", 0, Required, "jobs with these names", ""},
	{"noheader", 'n', None, "no line of titles", ""},
	{"parsable", 'p', None, "columns with | behind each", ""},
	{"parsable2", 'P', None, "columns with | between them", ""},
	{"partition", 'r', Required, "jobs of these partitions", ""},
	{"starttime", 'S', Required, "jobs that were there then or later; default: today", ""},
	{"state", 's', Required, "jobs in these states", ""},
	{"user", 'u', Required, "jobs of these users", ""},
	{"delimiter", 0, Required, "in place of |", ""},
	{Long: "accounts", Short: 'A', Takes: Required}, {Long: "allclusters", Short: 'L'}, {Long: "allocations", Short: 'X'}, {Long: "array"}, {Long: "brief", Short: 'b'}, {Long: "clusters", Short: 'M', Takes: Required},
	{Long: "duplicates", Short: 'D'}, {Long: "long", Short: 'l'}, {Long: "truncate", Short: 'T'}, {Long: "units", Takes: Required}, {Long: "verbose", Short: 'v'},
}

var scancelOptions = []Option{
	{"jobname", 'n', Required, "jobs with this name", ""},
	{"me", 0, None, "jobs of the caller", ""},
	{"name", 0, Required, "jobs with this name", ""},
	{"partition", 'p', Required, "jobs of this partition", ""},
	{"signal", 's', Required, "only TERM and KILL, which end the job", ""},
	{"state", 't', Required, "jobs in this state", ""},
	{"user", 'u', Required, "jobs of this user", ""},
	{Long: "batch", Short: 'b'}, {Long: "clusters", Short: 'M', Takes: Required}, {Long: "ctld"}, {Long: "full", Short: 'f'}, {Long: "quiet", Short: 'Q'}, {Long: "verbose", Short: 'v'},
}

var scontrolOptions = []Option{
	{"oneliner", 'o', None, "one line for each thing", ""},
	{Long: "all", Short: 'a'}, {Long: "clusters", Short: 'M', Takes: Required}, {Long: "details", Short: 'd'}, {Long: "quiet", Short: 'Q'}, {Long: "verbose", Short: 'v'},
}

var sinfoOptions = []Option{
	{"format", 'o', Required, "columns: %P %a %D %T …", ""},
	{"noheader", 'h', None, "no line of titles", ""},
	{"partition", 'p', Required, "these partitions", ""},
	{"version", 'V', None, "the version", ""},
	{Long: "all", Short: 'a'}, {Long: "clusters", Short: 'M', Takes: Required}, {Long: "exact", Short: 'e'}, {Long: "long", Short: 'l'}, {Long: "Node", Short: 'N'}, {Long: "summarize", Short: 's'}, {Long: "verbose", Short: 'v'},
}

var sacctmgrOptions = []Option{
	{"noheader", 'n', None, "no line of titles", ""},
	{"parsable", 'p', None, "columns with | behind each", ""},
	{"parsable2", 'P', None, "columns with | between them", ""},
	{Long: "associations", Short: 's'}, {Long: "immediate", Short: 'i'}, {Long: "quiet", Short: 'Q'}, {Long: "readonly", Short: 'r'}, {Long: "verbose", Short: 'v'},
}

var sshareOptions = []Option{
	{"format", 'o', Required, "columns: Account, User", ""},
	{"noheader", 'h', None, "no line of titles", ""},
	{"parsable", 'p', None, "columns with | behind each", ""},
	{"parsable2", 'P', None, "columns with | between them", ""},
	{Long: "all", Short: 'a'}, {Long: "long", Short: 'l'}, {Long: "Users", Short: 'U'}, {Long: "users", Short: 'u', Takes: Required}, {Long: "verbose", Short: 'v'},
}
