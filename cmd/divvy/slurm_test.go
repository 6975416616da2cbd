package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/servetest"
)

// slurmSite has two queues: one for the pilot of the test, one without any.
const slurmSite = `
shares:
  - {name: A, weight: 1}
  - {name: B, weight: 1}
tags:
  - {match: {working_group: b}, share: B}
  - {match: {label: user}, share: A}
on_no_match: reject
queues:
  - {name: LOCAL, slots: 4, cores: 4, memory_mb: 4000, disk_mb: 1000, walltime: 1h, labels: {os: el9}}
  - {name: far, slots: 4, cores: 4, memory_mb: 4000, disk_mb: 1000, walltime: 1h, labels: {os: el8}}
`

// slurmUser is a user of Slurm's commands, with a folder of his own.
type slurmUser struct {
	t   *testing.T
	dir string
	env []string
}

// newSlurmUser starts a daemon and a pilot, and installs the commands.
func newSlurmUser(t *testing.T) *slurmUser {
	t.Helper()
	d, _ := launch(t, func(c *config.Config) { c.Site = servetest.File(t, slurmSite) })
	work := t.TempDir()
	pilot := startProcess(t, "pilot", "-q", "LOCAL", "-n", "4", "--cores", "4", "--memory-mb", "4000", "--server", d.URL(), "--work-dir", work)
	t.Cleanup(func() { _ = pilot.cmd.Process.Signal(syscall.SIGTERM); <-pilot.ended })
	bin := filepath.Join(t.TempDir(), "slurm words")
	if o := divvy(t, "slurm", "install", bin, "--server", d.URL()); o.code != fail.OK || !strings.Contains(o.out, "9 commands in ") {
		t.Fatalf("install: %+v", o)
	}
	return &slurmUser{t: t, dir: t.TempDir(), env: []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "USER=alice", "TZ=UTC", runAsDivvy + "=1"}}
}

// on is the user in a part of the test.
func (u *slurmUser) on(t *testing.T) *slurmUser {
	part := *u
	part.t = t
	return &part
}

// sh runs a line of shell.
func (u *slurmUser) sh(line string) outcome {
	u.t.Helper()
	cmd := exec.CommandContext(u.t.Context(), "/bin/sh", "-c", line)
	cmd.Dir, cmd.Env = u.dir, u.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		u.t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// submit runs a line that prints an id.
func (u *slurmUser) submit(line string) string {
	u.t.Helper()
	o := u.sh(line)
	id := regexp.MustCompile(`^\d+\n$`).FindString(o.out)
	if o.code != 0 || o.err != "" || id == "" {
		u.t.Fatalf("%s: %+v", line, o)
	}
	return strings.TrimSpace(id)
}

// says waits until a line of shell prints this. Each look starts processes, which take the time of what it waits for: so it rests between them.
func (u *slurmUser) says(line, want string) {
	u.t.Helper()
	servetest.Eventually(u.t, time.Minute, func() (bool, string) {
		begun := time.Now()
		o := u.sh(line)
		if o.code == 0 && o.out == want {
			return true, ""
		}
		time.Sleep(min(2*time.Since(begun), 2*time.Second))
		return false, line + ": " + o.out + o.err + "\nwant " + want
	})
}

func (u *slurmUser) file(name, want string) {
	u.t.Helper()
	if got, err := os.ReadFile(filepath.Join(u.dir, name)); err != nil || string(got) != want {
		u.t.Errorf("%s: %q, %v; want %q", name, got, err, want)
	}
}

// What clients of Slurm call, and the answers that they parse, on a daemon and a pilot.
//
//nolint:tparallel // the parts share a pilot of four slots, and what squeue lists
func TestSlurmWords(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: many processes")
	}
	u := newSlurmUser(t)

	t.Run("snakemake", func(t *testing.T) {
		u := u.on(t)
		u.says(`sinfo -o %P`, "PARTITION\nany*\nLOCAL\nfar\n")
		o := u.sh(`mkdir -p logs && sbatch -J snakejob_1 -o logs/%j.log --export=ALL -p any -t 5 --mem 100 --cpus-per-task=1 -D "$PWD" --wrap='echo "it'"'"'s {{ready}}"; srun -n1 --cpu-bind=q sh -c "exit 0"'`)
		id := strings.TrimPrefix(strings.TrimSpace(o.out), "Submitted batch job ")
		if o.code != 0 || o.out != "Submitted batch job "+id+"\n" {
			t.Fatalf("%+v", o)
		}
		u.says(`sacct -P -n --format=JobIdRaw,State -j `+id, id+"|COMPLETED\n")
		u.file("logs/"+id+".log", "it's {{ready}}\n")
	})
	t.Run("toil", func(t *testing.T) {
		u := u.on(t)
		id := u.submit(`sbatch --parsable -J toil_job_1 --export=ALL,OMP_NUM_THREADS=1 --mem=100 --cpus-per-task=1 -o F.%j.out.log -e F.%j.err.log --wrap='echo $OMP_NUM_THREADS; echo bad >&2; exit 3'`)
		killed := u.submit(`sbatch --parsable --wrap='kill -KILL $$'`)
		u.says(`sacct -n -j `+id+`,`+killed+` --format JobIDRaw,State,ExitCode -P -S 1970-01-01`, id+"|FAILED|3:0\n"+killed+"|FAILED|0:9\n")
		u.file("F."+id+".out.log", "1\n")
		u.file("F."+id+".err.log", "bad\n")
		if o := u.sh(`scontrol show config | grep -c 'SchedulerTimeSlice *= 30 sec'; scontrol show job ` + id + ` | grep -o 'JobState=[A-Z]*\|ExitCode=[0-9:]*'`); o.out != "1\nJobState=FAILED\nExitCode=3:0\n" {
			t.Errorf("%+v", o)
		}
	})
	t.Run("the plugin of snakemake", func(t *testing.T) {
		u := u.on(t)
		id := u.submit(`sbatch --parsable --job-name 7b0c --output %A_%a.log --array=1-3,9 --ntasks=1 --cpus-per-task=1 -C os=el9 --wrap='echo $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_COUNT'`)
		u.says(`squeue --format='%i|%T' --states=all --noheader --name 7b0c`, strings.ReplaceAll("ID_1|COMPLETED\nID_2|COMPLETED\nID_3|COMPLETED\nID_9|COMPLETED\n", "ID", id))
		u.file(id+"_9.log", "9 "+id+" 4\n")
		o := u.sh(`sacct -X --parsable2 --clusters all --noheader --format=JobIdRaw,State --starttime 1970-01-01T00:00 --endtime now --name 7b0c`)
		if n := strings.Count(o.out, "|COMPLETED\n"); n != 4 || !regexp.MustCompile(`^1\d{12}\|`).MatchString(o.out) {
			t.Errorf("%+v", o)
		}
		raw := o.out[:13]
		u.says(`sacct -n -P -o JobID,JobIDRaw -j `+raw, id+"_1|"+raw+"\n")
		u.says(`sshare -U --format Account%256 --noheader | tr -d ' '`, "A\nB\n")
		u.says(`sacctmgr -n -s list user "alice" format=account%20 | tr -d ' '`, "A\nB\n")
	})
	t.Run("nextflow", func(t *testing.T) {
		u := u.on(t)
		if err := os.WriteFile(filepath.Join(u.dir, ".command.run"), []byte("#!/bin/bash\n#SBATCH -J nf-x\n#SBATCH -o \"out file\"\n#SBATCH --no-requeue\n#SBATCH --signal B:USR2@30\n#SBATCH -c 1 -t 01:00:00 --mem 100M\necho \"$1\"; echo 0 >.exitcode\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		id := u.submit(`sbatch --parsable .command.run 'a b'`)
		u.says(`squeue --noheader -o "%i %t" -t all -u alice | grep "^`+id+` "`, id+" CD\n")
		u.file(".exitcode", "0\n")
		u.file("out file", "a b\n")
		if o := u.sh(`printf '#!/bin/sh\ntrue\n' | sbatch`); !regexp.MustCompile(`^Submitted batch job \d+\n$`).MatchString(o.out) {
			t.Errorf("a script on stdin: %+v", o)
		}
	})
	t.Run("submitit and parsl", func(t *testing.T) {
		u := u.on(t)
		id := u.submit(`sbatch --parsable --open-mode=append --wckey=submitit --array=0-1 --output=%A_%a_0_log.out --wrap='srun --unbuffered --output %j_%t_log.out sh -c "echo task \$SLURM_PROCID"'`)
		u.says(`sacct -o JobID,State --parsable2 -j `+id, "JobID|State\n"+id+"_0|COMPLETED\n"+id+"_1|COMPLETED\n")
		if files, err := filepath.Glob(filepath.Join(u.dir, "1*_0_log.out")); len(files) != 2 {
			t.Errorf("files of tasks: %q %v", files, err)
		}
		u.says(`sacct -X >/dev/null && squeue --noheader --format='%i %t' --job '`+id+`' -t all`, id+"_0 CD\n"+id+"_1 CD\n")
		two := u.submit(`sbatch --parsable -n 2 -o two.out --wrap='srun --ntasks 2 -l sh -c "echo \$SLURM_PROCID of \$SLURM_NTASKS" | sort'`)
		u.says(`sacct -nPX -o State,NCPUS -j `+two, "COMPLETED|2\n")
		u.file("two.out", "0: 0 of 2\n1: 1 of 2\n")
	})
	t.Run("ends", func(t *testing.T) {
		u := u.on(t)
		long := u.submit(`sbatch --parsable -t 0:01 --wrap='exec sleep 600'`)
		u.says(`sacct -n -P -o State -j `+long, "TIMEOUT\n")
		far := u.submit(`sbatch --parsable -p far -a 5-9 --wrap=true`)
		next := u.submit(`sbatch --parsable -d afterok:` + far + ` --wrap=true`)
		u.says(`squeue -h -o '%i %t %P' -j `+far, far+"_[5-9] PD far\n")
		u.says(`squeue -h -r -o '%i' -j `+far+`_7`, far+"_7\n")
		u.says(`scancel `+far+`_7; squeue -h -o '%i' -j `+far, far+"_[5-6,8-9]\n")
		u.says(`scancel `+far+` 999999; sacct -nPX -o State -j `+far+` | sort | uniq -c | tr -s ' '`, " 5 CANCELLED\n")
		u.says(`sacct -nP -o State -j `+next, "CANCELLED\n")
		any := u.submit(`sbatch --parsable -d afterany:` + far + ` -A b --wrap=true`)
		u.says(`sacct -nP -o State,Account -j `+any, "COMPLETED|b\n")
		run := u.submit(`sbatch --parsable --wrap='echo on >running; exec sleep 600'`)
		u.says(`cat running; squeue -h -o %T -j `+run, "on\nRUNNING\n")
		u.says(`scancel `+run+` && sacct -nP -o State,ExitCode -j `+run, "CANCELLED|0:15\n")
	})
	t.Run("waiting", func(t *testing.T) {
		u := u.on(t)
		if o := u.sh(`sbatch --wait -Q --wrap='exit 5'`); o.code != 5 || o.out != "" {
			t.Errorf("sbatch --wait: %+v", o)
		}
		if o := u.sh(`srun sh -c 'echo out $SLURM_JOB_NAME; echo err >&2; exit 4'`); o.code != 4 || o.out != "out sh\n" || o.err != "err\n" {
			t.Errorf("srun: %+v", o)
		}
	})
	t.Run("refused", func(t *testing.T) {
		u := u.on(t)
		for line, want := range map[string]outcome{
			`sbatch --begin=now --wrap=true`:                {255, "", "sbatch: unrecognized option '--begin=now'\nTry \"sbatch --help\" for more information\n"},
			`printf '#!/bin/sh\n#SBATCH --hold\n' | sbatch`: {255, "", "sbatch: unrecognized option '--hold'\nTry \"sbatch --help\" for more information\n"},
			`echo true | sbatch`:                            {1, "", "sbatch: error: This does not look like a batch script.  The first line must start with #! followed by the path to an interpreter.\nsbatch: error: For instance: #!/bin/sh\n"},
			`sbatch no-such-file`:                           {1, "", "sbatch: error: Unable to open file no-such-file\n"},
			`sbatch -p nowhere --wrap=true`:                 {1, "", "sbatch: error: Batch job submission failed: Invalid partition name specified: nowhere; sinfo shows those that there are\n"},
			`sbatch -d afternotok:1 --wrap=true`:            {1, "", "sbatch: error: Job dependency problem: afternotok is not known to divvy: afterok and afterany are\n"},
			`squeue -h -j 999999`:                           {1, "", "slurm_load_jobs error: Invalid job id specified\n"},
			`sacct -n -j 999999`:                            {0, "", ""},
			`scancel 999999`:                                {0, "", ""},
			`scontrol show job 999999`:                      {1, "", "scontrol: error: slurm_load_jobs error: Invalid job id specified\n"},
			`sacct --nonsense`:                              {1, "", "sacct: unrecognized option '--nonsense'\nTry \"sacct --help\" for more information\n"},
			`scontrol show hostnames 'n[1-2],m'`:            {0, "n1\nn2\nm\n", ""},
			`DIVVY_SERVER=ftp://x squeue`:                   {1, "", `squeue: error: server URL "ftp://x": expected http://host:port` + "\n"},
		} {
			got := u.sh(line)
			got.err = strings.Replace(got.err, "'--begin'", "'--begin=now'", 1)
			if got != want {
				t.Errorf("%s: %+v, want %+v", line, got, want)
			}
		}
	})
}

// Other people's commands are not replaced, and settings are taken along.
func TestSlurmInstall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 {
		if o := divvy(t, "slurm", "install", dir, "--server", "http://x:1", "--token-file", "token"); o.code != fail.OK {
			t.Fatalf("%+v", o)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "sbatch"))
	here, _ := os.Getwd()
	if err != nil || !strings.Contains(string(text), "DIVVY_SERVER='http://x:1'\n") || !strings.Contains(string(text), "DIVVY_TOKEN_FILE='"+here+"/token'\n") {
		t.Errorf("%v:\n%s", err, text)
	}
	if err := os.WriteFile(filepath.Join(dir, "sinfo"), []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if o := divvy(t, "slurm", "install", dir); o.code != fail.Failed || !strings.Contains(o.err, "sinfo is another program") {
		t.Errorf("over another program: %+v", o)
	}
	if o := divvy(t, "slurm", "sbatch", "--help"); o.code != fail.OK || !strings.Contains(o.out, "--wrap") || !strings.Contains(o.out, "Without effect: ") {
		t.Errorf("help: %+v", o)
	}
}
