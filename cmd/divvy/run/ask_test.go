package run

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/api/wire"
)

// ask is a command line with one core, as flags have it by default.
func ask(change func(*Ask)) *Ask {
	a := &Ask{Slot: Slot{Cores: 1}}
	change(a)
	return a
}

func TestSpec(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("HERE", "{{x")
	t.Setenv("DIVVY_TOKEN", "secret")
	for _, name := range []string{"b.txt", "a.txt"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := ask(func(a *Ask) {
		a.Cores, a.Memory, a.Time, a.Count, a.Share, a.After = 2, "4g", "1h", 20, "S", []string{"17", "18:any"}
		a.Env, a.Stdout, a.Retries = []string{"A=n{{.Index}}", "HERE"}, "out-{{.Index}}", 1
	})
	s, err := a.Spec([]string{"./script", "{{.Index}}"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "script" || s.User == "" || s.Share != "S" || s.Count != 20 || s.Requirements.Cores != 2 || s.Requirements.MemoryMB != 4000 ||
		s.Requirements.Walltime != "1h" || s.Dir != dir || s.Stdout != dir+"/out-{{.Index}}" || s.MaxFailures != 2 || s.MaxAttempts != 4 {
		t.Errorf("%+v", s)
	}
	if want := map[string]string{"A": "n{{.Index}}", "HERE": "{{{{x", IndexVar: "{{.Index}}"}; !maps.Equal(s.Env, want) {
		t.Errorf("environment %q, want %q", s.Env, want)
	}
	if want := []wire.Need{{Task: 17}, {Task: 18, When: "any"}}; !slices.Equal(s.Needs, want) {
		t.Errorf("needs %+v", s.Needs)
	}
	s, err = ask(func(a *Ask) { a.Glob, a.EnvAll, a.OwnFolder = "*.txt", true, true }).Spec([]string{"wc", "{{.Input}}"})
	if err != nil || s.Dir != "" || len(s.Inputs) != 2 || s.Inputs[0].Name != filepath.Join(dir, "a.txt") || s.Env["HERE"] != "{{{{x" || s.Count != 0 {
		t.Errorf("%v %+v", err, s)
	}
	for name := range s.Env {
		if strings.HasPrefix(name, "DIVVY_") && name != IndexVar {
			t.Errorf("%s went with --env-all", name)
		}
	}
}

// Jobs of an array have its numbers, in the command, the environment and file names.
func TestArray(t *testing.T) {
	for text, want := range map[string]struct {
		count   int64
		axis    []string
		index   string
		numbers []string // of the first jobs, for people
	}{
		"1-100":    {100, nil, "{{.Index+1}}", []string{"1", "2"}},
		"0-9":      {10, nil, "{{.Index+0}}", []string{"0", "1"}},
		"7":        {1, nil, "{{.Index+7}}", []string{"7"}},
		"0-7:3":    {0, []string{"0", "3", "6"}, "{{.Array}}", []string{"0", "3", "6"}},
		"5,1,8-10": {0, []string{"5", "1", "8", "9", "10"}, "{{.Array}}", []string{"5", "1", "8"}},
	} {
		a := ask(func(a *Ask) { a.Array, a.Stdout = text, "/o/{{.Index}}" })
		s, err := a.Spec([]string{"run", "{{.Index}}", "{{{{.Index}}"})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var axis []string
		if len(s.Matrix) > 0 {
			axis = s.Matrix[0].Values
		}
		if s.Count != want.count || !slices.Equal(axis, want.axis) || s.Command[1] != want.index || s.Command[2] != "{{{{.Index}}" || s.Env[IndexVar] != want.index || s.Stdout != "/o/"+want.index {
			t.Errorf("%s: %+v", text, s)
		}
		for i, n := range want.numbers {
			if got := a.number(int64(i)); got != n {
				t.Errorf("%s: job %d is called %s, want %s", text, i, got, n)
			}
		}
	}
}

// What is wrong is told with the flag that it is about, before anything is asked of a server.
func TestSpecRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	command := []string{"./script", "{{.Index+1}}"}
	for want, a := range map[string]*Ask{
		"--array 5-1:":                     ask(func(a *Ask) { a.Array = "5-1" }),
		"--array 1-:":                      ask(func(a *Ask) { a.Array = "1-" }),
		"--array a:":                       ask(func(a *Ask) { a.Array = "a" }),
		"--array 1-9:0:":                   ask(func(a *Ask) { a.Array = "1-9:0" }),
		"--array 1,2: {{.Index+1}}":        ask(func(a *Ask) { a.Array = "1,2" }),
		"--array 0-999999:2: more than":    ask(func(a *Ask) { a.Array = "0-999999:2" }),
		"--array 1-9%0: expected how many": ask(func(a *Ask) { a.Array = "1-9%0" }),
		"--array with -n:":                 ask(func(a *Ask) { a.Array, a.Count = "1-9", 2 }),
		"--input-glob *.no: no file":       ask(func(a *Ask) { a.Glob = "*.no" }),
		"--input-glob [: expected a glob":  ask(func(a *Ask) { a.Glob = "[" }),
		"--memory 4x:":                     ask(func(a *Ask) { a.Memory = "4x" }),
		"--memory -4g:":                    ask(func(a *Ask) { a.Memory = "-4g" }),
		"--time soon:":                     ask(func(a *Ask) { a.Time = "soon" }),
		"--cores 0:":                       ask(func(a *Ask) { a.Cores = 0 }),
		"-n -3:":                           ask(func(a *Ask) { a.Count = -3 }),
		"--retries -1:":                    ask(func(a *Ask) { a.Retries = -1 }),
		"--env NOT_HERE_AT_ALL: there is":  ask(func(a *Ask) { a.Env = []string{"NOT_HERE_AT_ALL"} }),
		"--env =x:":                        ask(func(a *Ask) { a.Env = []string{"=x"} }),
		"--after soon:":                    ask(func(a *Ask) { a.After = []string{"soon"} }),
		"--after 17:later:":                ask(func(a *Ask) { a.After = []string{"17:later"} }),
		"--dir with --own-folder:":         ask(func(a *Ask) { a.Dir, a.OwnFolder = "/x", true }),
	} {
		if s, err := a.Spec(command); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s…; %+v", err, want, s)
		}
	}
	if _, err := ask(func(*Ask) {}).Spec(nil); err == nil || err.Error() != "no command" {
		t.Errorf("without a command: %v", err)
	}
}
