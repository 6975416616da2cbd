package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/plot"
)

// What a command line that makes no sense is told: what is wrong, and what would be right. Nothing is asked of a daemon.
func TestArguments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "site.yml")
	if err := os.WriteFile(file, []byte("shares: [{name: A}]\nqueues: [{name: Q, pool: gpu}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DIVVY_SERVER", "http://127.0.0.1:1")
	for line, want := range map[string]string{
		"shares why":                              "shares why needs SHARE, the path of a share, and SHARE, the path of the other\n  Example: divvy shares why Production/MC",
		"shares why A":                            "shares why needs SHARE, the path of the other\n  Example: ",
		"shares why A B C":                        `shares why takes 2 arguments: "C" is too much` + "\n  Example: ",
		"shares why A B --last -1":                "--last -1: expected 1 to 100000 decisions",
		"shares why A B --last x":                 `--last "x": expected a whole number`,
		"shares why A B --since":                  "--since needs a value: how far back to look: 90m",
		"shares why A B --since soon":             `--since "soon" is not a duration such as 90m`,
		"shares diff":                             "shares diff needs FROM, the number of a version, and TO, the number of another\n  Example: divvy shares diff 2 3",
		"shares diff 0 1":                         "0 is not the number of a version: expected 1, 2, 3 …\n  'divvy shares history' lists them.",
		"shares diff 1 two":                       "two is not the number of a version",
		"shares rollback":                         "shares rollback needs VERSION, the number of an old version\n  Example: ",
		"shares rollback -- -1":                   "-1 is not the number of a version",
		"shares show A":                           `shares show takes no argument: "A" is too much`,
		"shares show --version 0":                 "0 is not the number of a version",
		"shares show --version x":                 `--version "x": expected a whole number`,
		"shares show --every 2s":                  "--every is how often --watch looks: give --watch too",
		"shares show --watch --every 2":           `--every "2": expected a duration such as 500ms`,
		"shares show --watch --every 2ms":         "--every 2ms: expected 100ms or more",
		"shares show -o xml":                      `unknown output format "xml"; use table, wide, json or yaml`,
		"shares history 3":                        `shares history takes no argument: "3" is too much`,
		"shares history --limit 0":                "--limit 0: expected 1 to 1000 versions a page",
		"job explain":                             "job explain needs JOB, the id of a job; 'divvy job list' has them\n  Example: divvy job explain 12",
		"job explain 1 2":                         `job explain takes 1 argument: "2" is too much`,
		"job explain x":                           `"x" is not the id of a job: expected a whole number such as 17; 'divvy job list' has them`,
		"apply":                                   "which site file? Give -f\n  Example: divvy apply -f site.yml",
		"apply site.yml":                          `apply takes no argument: "site.yml" is too much` + "\n  Example: divvy apply -f site.yml",
		"apply --list-later --cancel 1":           "--list-later and --cancel do not go together",
		"apply --list-later --at +2h":             "--at does not go with --list-later: it is about a file",
		"apply --cancel 1 --dry-run":              "--dry-run does not go with --cancel",
		"apply --cancel 0":                        "--cancel 0 is not the number of a later version: expected 1, 2, 3",
		"apply --cancel x":                        `--cancel "x": expected a whole number`,
		"apply --all":                             "--all goes with --list-later only",
		"apply -f " + file + " --at 2h":           "--at 2h: expected RFC 3339 (2026-03-01T08:00:00+01:00), '2026-03-01 08:00'",
		"apply -f " + file + " --move A":          "--move A: expected OLD=NEW, two paths of shares such as Test=Analysis/User",
		"tags test":                               "tags test needs --file, file of tasks, with --since a site file",
		"tags test task.yml -f x":                 `tags test takes no argument: "task.yml" is too much`,
		"tags test --since 0s -f " + file:         "--since 0s: expected a duration such as 90m, 24h or 7d",
		"task reassign":                           "task reassign needs TASK..., the ids of tasks, and --share, path of the leaf that they go to\n  Example: ",
		"task reassign 3":                         "task reassign needs --share, path of the leaf that they go to\n  Example: divvy task reassign --share Analysis/User 17 18",
		"task reassign --share A x":               `"x" is not the id of a task: expected a whole number such as 17`,
		"sim replay x":                            `sim replay takes no argument: "x" is too much` + "\n  Example: divvy sim replay --since 24h",
		"status x":                                `status takes no argument: "x" is too much`,
		"queue show":                              "queue show needs QUEUE, the name of a queue",
		"queue drain":                             "queue drain needs QUEUE..., the names of queues",
		"task show 1 2":                           `task show takes 1 argument: "2" is too much`,
		"job kill":                                "job kill needs JOB..., the ids of jobs",
		"sim swf":                                 "sim swf needs FILE, a trace in the Standard Workload Format",
		"sim swf a b":                             `sim swf takes 1 argument: "b" is too much`,
		"sim swf a --slots many":                  `--slots "many": expected a whole number`,
		"sim swf a --seed -1":                     `--seed "-1": expected a whole number, 0 or more`,
		"sim swf a --map share=a --compare=x":     `--compare "x": expected true or false`,
		"sim swf a --map share=a --limit -1":      "--limit -1: expected a number of jobs, or 0 for all",
		"sim swf a --map share=a --every x":       `--every: "x" is not a duration such as 90s`,
		"sim swf a --map share=a --rule x":        "--rule x is not known; use divvy, ratio, fifo or easy",
		"sim swf a --map s=a --compare --rule x":  "--compare runs all rules: leave --rule out",
		"sim swf " + simTrace + " --site " + file: "--pool default: " + file + " has no such pool; expected gpu",
		"sim swf " + simTrace + " --map share=a --pool gpu":          "--pool gpu: only a site has pools",
		"sim swf " + simTrace + " --site " + simSite + " --pool gpu": "--pool gpu: " + simSite + " has no such pool; expected default",
	} {
		t.Run(line, func(t *testing.T) {
			o := divvy(t, strings.Fields(line)...)
			if o.code != fail.Usage || !strings.HasPrefix(o.err, "divvy: "+want) || o.out != "" {
				t.Errorf("exit code %d\n%s%s\nwant divvy: %s", o.code, o.out, o.err, want)
			}
		})
	}
}

// What the server does not know is said with where to look.
func TestAnswersOfTheServer(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "site.yml")
	if err := os.WriteFile(file, []byte("shares: [{name: A}, {name: B, owned: {gpu: 4}}]\ntags: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newStage(t, oneToOne)
	for line, want := range map[string]string{
		"shares why A nope":       `B, "nope": expected the path of a share`,
		"shares why nope A":       "'divvy shares show' lists them.",
		"shares diff 1 9":         "no such site version: 9\n  'divvy shares history' lists them.",
		"shares rollback 9":       "no such site version: 9\n  'divvy shares history' lists them.",
		"shares show --version 9": "no such site version: 9\n  'divvy shares history' lists them.",
		"job explain 77":          "no such job: 77\n  'divvy job list'",
		"apply -f " + file + " --at 2020-01-01T00:00:00Z": "Leave --at out to apply the file at once",
		"apply --cancel 9":     "no such later version: 9\n  `divvy apply --list-later` lists them",
		"tags test -f " + file: file + " is a site file, not one of tasks\n  Its rules are rehearsed on past tasks: divvy tags test --since 7d -f",
	} {
		o := divvy(t, append(strings.Fields(line), "--server", s.d.URL())...)
		if o.code != fail.Failed || !strings.Contains(o.err, want) {
			t.Errorf("%s: exit code %d\n%s%s\nwant %s", line, o.code, o.out, o.err, want)
		}
	}
	_, err := s.cl.Site().Apply(t.Context(), []byte("shares: [{name: A}, {name: B, weight: 2}]\nqueues: [{name: Q, slots: 100}]\n"), client.ApplyOptions{})
	s.must(err)
	_, err = s.d.pool.Exec(t.Context(), "UPDATE site_versions SET source = 'shares: [{name: A, owned: 10, max: 5}]' WHERE version = 1")
	s.must(err)
	want := "version-1.yml:1:27: owned: 10 is more than max 5 (lower owned or raise max)"
	if o := divvy(t, "shares", "rollback", "1", "--server", s.d.URL()); o.code != fail.Failed || !strings.Contains(o.err, want) {
		t.Errorf("a version that is refused now: exit code %d\n%s%s\nwant %s", o.code, o.out, o.err, want)
	}
	if o := divvy(t, "sim", "swf", simTrace, "--site", file, "--map", "share=A", "--pool", "gpu"); o.code != fail.OK {
		t.Errorf("a pool that only a figure of a plan names: %+v", o)
	}
}

// The picture is well-formed, has a line for each rule and share in both panels, and is the same every time.
func TestSimSVG(t *testing.T) {
	args := []string{"sim", "swf", simTrace, "--site", simSite, "--compare", "-o", "svg"}
	o := divvy(t, args...)
	lines := 0
	d := xml.NewDecoder(strings.NewReader(o.out))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%+v", err, o)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "path" && strings.HasPrefix(e.Attr[0].Value, "line ") {
			lines++
		}
	}
	if want := 4 + 4*2*2; lines != want || strings.Contains(o.out, "NaN") || strings.Contains(o.out, "Inf") {
		t.Errorf("%d lines, want %d: three of the legend, one for each rule, share and panel\n%s", lines, want, o.out)
	}
	if again := divvy(t, args...); again != o {
		t.Error("another run draws something else")
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      int
		last      float64
	}{{0, 18.3, 4, 15}, {-4600, 500, 5, 0}, {0, 1, 6, 1}, {0, 0.07, 4, 0.06}, {0, 223, 5, 200}} {
		got := plot.Ticks(c.low, c.high, 4)
		if len(got) != c.want || got[len(got)-1] != c.last {
			t.Errorf("from %g to %g: %v", c.low, c.high, got)
		}
	}
}
