package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/tools"
	"github.com/divvyhq/divvy/internal/golden"
)

const (
	simTrace = "../../shares/sim/swf/testdata/small.swf"
	simSite  = "testdata/sim.site.yml"
)

// What people see.
func TestSimTables(t *testing.T) {
	for name, args := range map[string][]string{
		"sim-swf":         {},
		"sim-swf-compare": {"--compare"},
		"sim-swf-plot":    {"-o", "plot", "--slots", "6", "--every", "5m"},
		"sim-swf-csv":     {"-o", "csv", "--every", "1h", "--rule", "ratio"},
	} {
		t.Run(name, func(t *testing.T) {
			o := divvy(t, append([]string{"sim", "swf", simTrace, "--site", simSite}, args...)...)
			if o.code != fail.OK || o.err != "" {
				t.Fatalf("exit code %d: %s", o.code, o.err)
			}
			golden.Equal(t, "testdata/golden/"+name+".txt", o.out)
		})
	}
}

// json holds what the table shows, for every rule; yaml is the same.
func TestSimJSON(t *testing.T) {
	args := []string{"sim", "swf", simTrace, "--site", simSite, "--compare", "--seed", "7"}
	o := divvy(t, append(args, "-o", "json")...)
	var r tools.SimReport
	if err := json.Unmarshal([]byte(o.out), &r); err != nil {
		t.Fatalf("%v\n%+v", err, o)
	}
	if len(r.Runs) != 4 || r.Jobs != 9 || r.LeftOut["run time unknown"] != 1 || r.Seed != 7 {
		t.Errorf("%+v", r)
	}
	for i, name := range []string{"divvy", "ratio", "fifo", "easy"} {
		run := r.Runs[i]
		if run.Rule != name || run.Slots != 8 || run.Shares[0].Started != 9 || run.Fairness.Refused != 0 || len(run.Shares) != 5 {
			t.Errorf("%+v", run)
		}
	}
	if again := divvy(t, append(args, "-o", "json")...); again != o {
		t.Errorf("the same seed gives %s\nand %s", o.out, again.out)
	}
	if y := divvy(t, append(args, "-o", "yaml")...); y.code != fail.OK || !strings.Contains(y.out, "worst_over_jobs:") {
		t.Errorf("%+v", y)
	}
}

// The points of a share add up to what it got.
func TestSimCSVAddsUp(t *testing.T) {
	o := divvy(t, "sim", "swf", simTrace, "--map", "share=g{gid}", "--every", "7m", "-o", "csv")
	rows, err := csv.NewReader(strings.NewReader(o.out)).ReadAll()
	if err != nil || len(rows) < 10 {
		t.Fatalf("%v\n%+v", err, o)
	}
	got := map[string]float64{}
	for _, row := range rows[1:] {
		var hours float64
		if err := json.Unmarshal([]byte(row[4]), &hours); err != nil {
			t.Fatal(err)
		}
		got[row[3]] += hours
	}
	// Four jobs of 4 for an hour; 2 × 30 min, 20 min on 2, 30 min on 8; 10 min.
	for share, want := range map[string]float64{"g1": 16, "g2": 1 + 2.0/3 + 4, "gunknown": 1.0 / 6} {
		if d := got[share] - want; d > 0.02 || d < -0.02 {
			t.Errorf("%s got %v slot-hours, want %v", share, got[share], want)
		}
	}
}

func TestSimExitCodes(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.swf")
	if err := os.WriteFile(broken, []byte("; MaxProcs: 4\n1 2 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged.swf")
	if err := os.WriteFile(damaged, []byte("; MaxProcs: 4\n1 2 3\n1 0 0 10 1 10 -1 1 10 -1 1 1 1 1 1 1 -1 -1 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	headless := filepath.Join(t.TempDir(), "headless.swf")
	if err := os.WriteFile(headless, []byte("1 0 0 10 1 10 -1 1 10 -1 1 1 1 1 1 1 -1 -1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	byGroup := []string{"--map", "share=g{gid}"}
	for name, c := range map[string]struct {
		args []string
		code int
		err  string
	}{
		"no subcommand":  {[]string{"swg"}, fail.Usage, "unknown command"},
		"no file named":  {append([]string{"swf"}, byGroup...), fail.Usage, "sim swf needs FILE"},
		"no share":       {[]string{"swf", simTrace}, fail.Usage, "which share does a job belong to?"},
		"format":         {append([]string{"swf", simTrace, "-o", "xml"}, byGroup...), fail.Usage, "use table, json, yaml, csv, plot or svg"},
		"wide":           {append([]string{"swf", simTrace, "-o", "wide"}, byGroup...), fail.Usage, "unknown output format"},
		"rule":           {append([]string{"swf", simTrace, "--rule", "lottery"}, byGroup...), fail.Usage, "use divvy, ratio, fifo or easy"},
		"map":            {[]string{"swf", simTrace, "--map", "g{gid}"}, fail.Usage, "expected share=PATH"},
		"map to nothing": {[]string{"swf", simTrace, "--map", "share=a//b"}, fail.Usage, "name: is empty"},
		"slots":          {append([]string{"swf", simTrace, "--slots", "-1"}, byGroup...), fail.Usage, "--slots -1"},
		"limit":          {append([]string{"swf", simTrace, "--limit", "-1"}, byGroup...), fail.Usage, "--limit -1"},
		"from":           {append([]string{"swf", simTrace, "--from", "yesterday"}, byGroup...), fail.Usage, `--from: "yesterday" is not a duration`},
		"no slots":       {append([]string{"swf", headless}, byGroup...), fail.Usage, "--slots is needed"},
		"missing trace":  {append([]string{"swf", "/nonexistent.swf"}, byGroup...), fail.Failed, "no such file"},
		"bad trace":      {append([]string{"swf", broken}, byGroup...), fail.Failed, "broken.swf:2: 3 columns; a record has 18"},
		"damaged":        {append([]string{"swf", damaged}, byGroup...), fail.OK, "divvy: 1 broken record left out, the first: " + damaged + ":2: 3 columns"},
		"strict":         {append([]string{"swf", damaged, "--strict"}, byGroup...), fail.Failed, "damaged.swf:2: 3 columns; a record has 18"},
		"bad site":       {[]string{"swf", simTrace, "--site", "servetest/site.yml"}, fail.Failed, "servetest/site.yml"},
		"unknown share": {[]string{"swf", simTrace, "--site", simSite, "--map", "share=g{gid}"}, fail.Failed,
			"small.swf:7: the site has no share \"g1\" (4 jobs)\nsmall.swf:11: the site has no share \"g2\" (4 jobs)"},
		"its hint":   {[]string{"swf", simTrace, "--site", simSite, "--map", "share=second"}, fail.Failed, "that may hold jobs are first, second/user.21, second/rest. Add them"},
		"none left":  {append([]string{"swf", simTrace, "--from", "30d"}, byGroup...), fail.Failed, "no job is left to simulate\n  10 records, 0 of them"},
		"some left":  {append([]string{"swf", simTrace, "--from", "20m", "--limit", "1"}, byGroup...), fail.OK, ""},
		"everything": {append([]string{"swf", simTrace, "--compare", "--seed", "3"}, byGroup...), fail.OK, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := divvy(t, append([]string{"sim"}, c.args...)...)
			errs := strings.ReplaceAll(o.err, filepath.Dir(simTrace)+"/", "")
			if o.code != c.code || !strings.Contains(errs, c.err) {
				t.Errorf("exit code %d, want %d; stderr:\n%s\nwant in it: %s", o.code, c.code, o.err, c.err)
			}
			if c.code != fail.OK && o.out != "" {
				t.Errorf("an error wrote to stdout: %s", o.out)
			}
		})
	}
}

// Keys of a plan that do not act are named.
func TestSimWarns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "site.yml")
	if err := os.WriteFile(file, []byte("shares: [{name: A, reclaim: {grace: 60s}}]\non_no_match: A\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if o := divvy(t, "sim", "swf", simTrace, "--site", file); o.code != fail.OK || !strings.Contains(o.err, "do not act in a simulation; share A") {
		t.Errorf("%+v", o)
	}
}

var example = regexp.MustCompile("(?ms)^```sh\n(divvy sim [^\n]+)\n```\n\n```text\n(.*?)^```")

// The example of docs/simulation.md, run as it stands there from the root of the repository.
func TestSimulationPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/simulation.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := example.FindAllStringSubmatch(string(page), -1)
	if len(examples) != 1 {
		t.Fatalf("%d examples with their output", len(examples))
	}
	t.Chdir("../..")
	for _, ex := range examples {
		o := divvy(t, strings.Fields(strings.ReplaceAll(ex[1], "'", ""))[1:]...)
		if o.code != fail.OK || o.out != ex[2] {
			t.Errorf("%s: exit code %d\n%s%s\nthe page says\n%s", ex[1], o.code, o.err, o.out, ex[2])
		}
	}
}
