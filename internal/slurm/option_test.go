package slurm

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		command string
		args    []string
		want    map[string]string
		rest    []string
		wrong   string
	}{
		{"sbatch", []string{"-J", "n", "-o", "l/%j.log", "--export=ALL", "-D", "/x", "--wrap=a b"}, map[string]string{"job-name": "n", "output": "l/%j.log", "export": "ALL", "chdir": "/x", "wrap": "a b"}, nil, ""},
		{"sbatch", []string{"-n4", "--mem", "5", "job.sh", "-n", "7"}, map[string]string{"ntasks": "4", "mem": "5"}, []string{"job.sh", "-n", "7"}, ""},
		{"sbatch", []string{"--pars", "--", "-x"}, map[string]string{"parsable": ""}, []string{"-x"}, ""},
		{"sbatch", []string{"--mem", "1", "--mem=2"}, map[string]string{"mem": "2"}, nil, ""},
		{"sacct", []string{"-nu", "root", "-o", "Account%20"}, map[string]string{"noheader": "", "user": "root", "format": "Account%20"}, nil, ""},
		{"sacct", []string{"-P", "-n", "--format=JobIdRaw,State", "-j", "7"}, map[string]string{"parsable2": "", "noheader": "", "format": "JobIdRaw,State", "jobs": "7"}, nil, ""},
		{"squeue", []string{"--noheader", "--format=%i %t", "--job", "1,2"}, map[string]string{"noheader": "", "format": "%i %t", "jobs": ""}, []string{"1,2"}, ""},
		{"squeue", []string{"-h", "-j12"}, map[string]string{"noheader": "", "jobs": "12"}, nil, ""},
		{"scancel", []string{"5", "--signal", "SIGTERM"}, map[string]string{"signal": "SIGTERM"}, []string{"5"}, ""},
		{"scontrol", []string{"show", "jobid", "-dd", "5"}, map[string]string{"details": ""}, []string{"show", "jobid", "5"}, ""},
		{"srun", []string{"-n1", "--cpu-bind=q", "python3", "-m", "x"}, map[string]string{"ntasks": "1", "cpu-bind": "q"}, []string{"python3", "-m", "x"}, ""},
		{"sbatch", []string{"--begin=now"}, nil, nil, "unrecognized option '--begin'"},
		{"sbatch", []string{"-Z"}, nil, nil, "invalid option -- 'Z'"},
		{"sbatch", []string{"--mem"}, nil, nil, "option '--mem' requires an argument"},
		{"sbatch", []string{"-J"}, nil, nil, "option requires an argument -- 'J'"},
		{"sbatch", []string{"--parsable=1"}, nil, nil, "option '--parsable' doesn't allow an argument"},
		{"sbatch", []string{"--no"}, nil, nil, "option '--no' is ambiguous; possibilities: '--no-requeue' '--nodes'"},
	} {
		g, err := Parse(tc.command, tc.args)
		if tc.wrong != "" {
			if err == nil || err.Error() != tc.wrong {
				t.Errorf("%s %q: %v, want %s", tc.command, tc.args, err, tc.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %q: %v", tc.command, tc.args, err)
			continue
		}
		if diff := cmp.Diff(tc.want, g.values); diff != "" {
			t.Errorf("%s %q: %s", tc.command, tc.args, diff)
		}
		if !slices.Equal(tc.rest, g.Args) {
			t.Errorf("%s %q: arguments %q, want %q", tc.command, tc.args, g.Args, tc.rest)
		}
	}
}

func TestCodesOfUsageErrors(t *testing.T) {
	for command, want := range map[string]int{"sbatch": 255, "srun": 255, "squeue": 1, "sacct": 1, "scancel": 1} {
		_, err := Parse(command, []string{"--nonsense"})
		var usage *UsageError
		if !errors.As(err, &usage) || usage.Code() != want {
			t.Errorf("%s: %v, want exit code %d", command, err, want)
		}
	}
}

// The command line goes over variables, these over the script.
func TestOver(t *testing.T) {
	line, _ := Parse("sbatch", []string{"-J", "line"})
	env := FromEnvironment("sbatch", func(name string) (string, bool) {
		v, ok := map[string]string{"SBATCH_JOB_NAME": "env", "SBATCH_TIMELIMIT": "5"}[name]
		return v, ok
	})
	script, err := Directives("#!/bin/sh\n#SBATCH --job-name=script -t 7\n#SBATCH --mem=9\ntrue\n#SBATCH -n 9\n")
	if err != nil {
		t.Fatal(err)
	}
	g := line.Over(env).Over(script)
	if g.Get("job-name") != "line" || g.Get("time") != "5" || g.Get("mem") != "9" || g.Has("ntasks") {
		t.Errorf("%v", g.values)
	}
}

// No table has an option twice, and each has a kind that its effect needs.
func TestTables(t *testing.T) {
	for _, command := range Commands {
		long, short := map[string]bool{}, map[byte]bool{}
		for _, o := range Tables[command] {
			if long[o.Long] || o.Short != 0 && short[o.Short] {
				t.Errorf("%s has --%s or -%c twice", command, o.Long, o.Short)
			}
			long[o.Long], short[o.Short] = true, true
			if o.Env != "" && command != "sbatch" {
				t.Errorf("%s --%s has a variable", command, o.Long)
			}
		}
		if len(long) == 0 {
			t.Errorf("%s has no table", command)
		}
	}
}
