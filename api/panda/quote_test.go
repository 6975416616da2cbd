package panda

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/api/panda/taskspec"
	"github.com/divvyhq/divvy/dispatcher"
)

// shlex cuts a command line as Python's shlex.split does, in its POSIX mode.
func shlex(t interface{ Fatalf(string, ...any) }, line string) (words []string) {
	var word []byte
	in, quoted := false, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quoted == '\'' && c != '\'', quoted == '"' && c != '"' && c != '\\':
			word = append(word, c)
		case quoted == '"' && c == '\\':
			if i+1 < len(line) && (line[i+1] == '"' || line[i+1] == '\\') {
				i++
			}
			word = append(word, line[i])
		case quoted != 0:
			quoted = 0
		case c == '\'' || c == '"':
			quoted, in = c, true
		case c == '\\' && i+1 < len(line):
			i++
			word, in = append(word, line[i]), true
		case strings.IndexByte(" \t\r\n", c) >= 0:
			if in {
				words, word, in = append(words, string(word)), nil, false
			}
		default:
			word, in = append(word, c), true
		}
	}
	if quoted != 0 {
		t.Fatalf("no closing quotation in %q", line)
	}
	if in {
		words = append(words, string(word))
	}
	return words
}

// throughPilot is what a pilot makes of jobPars before it runs them: options for itself go, and so does what its patterns
// find.
func throughPilot(t interface{ Fatalf(string, ...any) }, jobPars string) string {
	for _, word := range taskspec.ForPilot {
		if strings.Contains(strings.ToLower(jobPars), word) {
			t.Fatalf("the pilot takes %s for its own in %q", word, jobPars)
		}
	}
	return strings.Join(taskspec.QuoteAll(shlex(t, jobPars)), " ")
}

// runner runs jobPars as a pilot does, with a shell.
type runner struct {
	shell, dir string
}

func newRunner(t *testing.T, shell string) runner {
	t.Helper()
	path, err := exec.LookPath(shell)
	if err != nil {
		t.Fatal(err)
	}
	r := runner{path, t.TempDir()}
	script := bytes.Replace(runShell, []byte("#!/bin/sh"), []byte("#!"+path), 1)
	if err := os.WriteFile(filepath.Join(r.dir, taskspec.RunShellName), script, 0o755); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r runner) run(t interface{ Fatalf(string, ...any) }, jobPars string) (out string, code int) {
	cmd := exec.Command(r.shell, "-c", "./"+taskspec.RunShellName+" "+jobPars)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "PANDAID=17", "PanDA_TaskID=4")
	b, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v", err)
	}
	return string(b), cmd.ProcessState.ExitCode()
}

// Whatever a command and its environment hold reaches the program, through a pilot's shlex and real shells.
func TestCommandSurvives(t *testing.T) {
	t.Parallel()
	const tell = `printf '%s\0' "$#" "$@" "$COLOUR" "$DIVVY_ATTEMPT"; exit 7`
	for _, shell := range []string{"sh", "bash"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, shell)
			word := rapid.OneOf(
				rapid.StringMatching(`[a-z '"$\\\n\t;&|<>(){}*?#~!%=-]{0,20}`),
				rapid.String(),
				rapid.Map(rapid.SliceOf(rapid.ByteRange(1, 255)), func(b []byte) string { return string(b) }),
				rapid.SampledFrom([]string{"", "-", "--", "-e", "-o", "-c", "--containerImage=x", "<ZIP_MAP>a</ZIP_MAP>", "A=B", "\n", "a\n\n", "$HOME", "`id`", "${x}", "%101"}),
			)
			rapid.Check(t, func(t *rapid.T) {
				args := rapid.SliceOfN(rapid.Map(word, noNUL), 0, 5).Draw(t, "args")
				value := noNUL(word.Draw(t, "value"))
				l := &dispatcher.Lease{Attempt: 3, Command: append([]string{"sh", "-c", tell, "x"}, args...), Env: map[string]string{"COLOUR": value}}
				_, jobPars := taskspec.PayloadOf(l, "Q", "http://h/trf/runShell")
				out, code := r.run(t, throughPilot(t, jobPars))
				want := strings.Join(slices.Concat([]string{strconv.Itoa(len(args))}, args, []string{value, "3", ""}), "\x00")
				if out != want || code != 7 {
					t.Fatalf("exit code %d\n got %q\nwant %q\n for %s", code, out, want, jobPars)
				}
			})
		})
	}
}

func noNUL(s string) string { return strings.ReplaceAll(s, "\x00", "") }

// What else runShell runs: shell code and plain words, as users of PanDA write them; and what it is told of the job.
func TestRunShell(t *testing.T) {
	for _, shell := range []string{"sh", "bash"} {
		r := newRunner(t, shell)
		for _, c := range []struct {
			jobPars, out string
			code         int
		}{
			{`-c 'echo hello; echo $1' x y`, "hello\ny\n", 0},
			{`-c 'exit 7'`, "", 7},
			{`'echo a; exit 3'`, "a\n", 3},
			{`echo one two`, "one two\n", 0},
			{`-c 'echo $DIVVY_JOB $DIVVY_TASK; [ "$DIVVY_WORK" = "$PWD" ]'`, "17 4\n", 0},
			{`-- sh -c 'kill -9 $$'`, "", -1},
			{`-- no-such-program-here`, "", 127},
			{`--`, "", 2},
			{`-e A=1`, "", 2},
			{`-e A=1 -- A=2`, "", 127},
		} {
			if out, code := r.run(t, c.jobPars); out != c.out || code != c.code && !(c.code == -1 && code == 137) {
				t.Errorf("%s %s: %q, exit code %d", shell, c.jobPars, out, code)
			}
		}
	}
}
