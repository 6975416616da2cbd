package taskspec

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/internal/site"
)

var rewrite = flag.Bool("update-tasks", false, "write what the cases of testdata/tasks come to into them")

// taskSite is the site of the cases.
const taskSite = `
shares:
  - name: Prod
    weight: 70
    children: [{name: MC, weight: 50}, {name: Reprocessing, weight: 30}, {name: Other, weight: 1}]
  - name: User
    weight: 30
    children: [{name: Group, weight: 1}, {name: Other, weight: 1}]
queues:
  - {name: CERN, core_power: 11.5}
  - {name: CERN-GPU, core_power: 20}
  - {name: BNL}
`

// taskCase is a file of testdata/tasks: what was given, and what comes of it. A case without anything but given, run with
// -update-tasks, gets the rest; look at it then.
type taskCase struct {
	About   string           `json:"about"`
	Given   json.RawMessage  `json:"given"`
	Spec    *json.RawMessage `json:"spec,omitempty"`
	Ignored []Ignored        `json:"ignored,omitempty"`
	Error   string           `json:"error,omitempty"`
}

func siteOf(t testing.TB, yaml string) *site.Site {
	t.Helper()
	st, err := site.Parse("site.yml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func TestTranslate(t *testing.T) {
	st := siteOf(t, taskSite)
	files, err := filepath.Glob("testdata/tasks/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var c taskCase
			if err := json.Unmarshal(text, &c); err != nil {
				t.Fatal(err)
			}
			got := taskCase{About: c.About, Given: c.Given}
			given, err := wire.ParseJSON(c.Given)
			if err != nil {
				t.Fatal(err)
			}
			s, ignored, err := Translate(given, st)
			if got.Ignored = ignored; err != nil {
				got.Error = err.Error()
			} else if err := s.Check(); err != nil {
				t.Errorf("translated, but %v", err)
			} else {
				raw := asJSON(t, s)
				got.Spec = &raw
			}
			if *rewrite {
				var b strings.Builder
				enc := json.NewEncoder(&b)
				enc.SetEscapeHTML(false)
				enc.SetIndent("", "  ")
				if err := enc.Encode(got); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(asValue(t, c), asValue(t, got)); d != "" {
				t.Errorf("%s\n%s", c.About, d)
			}
		})
	}
}

func asJSON(t testing.TB, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// asValue is a value as JSON has it.
func asValue(t testing.TB, v any) (out any) {
	t.Helper()
	if err := json.Unmarshal(asJSON(t, v), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Whatever is given: each parameter is used, ignored by name, or in the error, and nothing else is named.
func TestTranslateNamesEverything(t *testing.T) {
	st := siteOf(t, taskSite)
	odd := rapid.OneOf(rapid.Just[any](nil), rapid.Just[any](true), rapid.Just[any]("7"), rapid.Just[any](""), rapid.Just[any]("x"),
		rapid.Just[any](json.Number("3")), rapid.Just[any](json.Number("-1")), rapid.Just[any](json.Number("2.5")),
		rapid.Just[any]([]any{"a", json.Number("1")}), rapid.Just[any](map[string]any{"a": "b"}))
	var names []string
	for name := range WhyNot {
		names = append(names, name)
	}
	for name := range TaskTexts {
		names = append(names, name)
	}
	names = append(names, "taskType", "taskPriority", "maxAttempt", "coreCount", "ramCount", "ramUnit", "ramCountUnit", "baseRamCount", "cpuTime",
		"cpuTimeUnit", "cpuEfficiency", "walltime", "walltimeUnit", "baseWalltime", "maxWalltime", "outDiskCount", "outDiskUnit",
		"workDiskCount", "workDiskUnit", "site", "includedSite", "excludedSite", "nFilesPerJob", "nFiles", "nEvents", "nEventsPerJob",
		"noInput", "pfnList", "jobParameters", "useScout", "skipScout", "quite_unknown")
	rapid.Check(t, func(t *rapid.T) {
		given := map[string]any{"taskName": "t", "userName": "u", "noInput": true, "jobParameters": "x", "transPath": "run"}
		for name, v := range rapid.MapOfN(rapid.SampledFrom(names), odd, 0, 8).Draw(t, "given") {
			given[name] = v
		}
		s, ignored, err := Translate(given, st)
		if err != nil {
			if s.Name != "" || ignored != nil {
				t.Fatalf("refused, but %+v", s)
			}
			return
		}
		if err := s.Check(); err != nil {
			t.Fatalf("%v: %v", given, err)
		}
		for _, one := range ignored {
			name, _, _ := strings.Cut(one.Parameter, "[")
			if _, there := given[name]; !there || one.Reason == "" {
				t.Fatalf("%v: ignored is %+v", given, one)
			}
		}
		for name, v := range given {
			if WhyNot[name] == "" && name != "quite_unknown" || wire.Absent(v) {
				continue
			}
			if !slices.ContainsFunc(ignored, func(i Ignored) bool { return i.Parameter == name }) {
				t.Fatalf("%s is not listed: %v", name, ignored)
			}
		}
	})
}

func TestShellWords(t *testing.T) {
	for line, want := range map[string]string{
		``:                      `null`,
		`  a  b `:               `["a","b"]`,
		`-c 'echo hello; ls'`:   `["-c","echo hello; ls"]`,
		`a'b c'"d e"\ f`:        `["ab cd e f"]`,
		`"" ''`:                 `["",""]`,
		`"a\"b\\c\d" 'a\b'`:     `["a\"b\\c\\d","a\\b"]`,
		"a\tb\nc":               `["a","b","c"]`,
		`--x={{.Inputs}} $HOME`: `["--x={{.Inputs}}","$HOME"]`,
	} {
		words, err := ShellWords(line)
		if got := string(asJSON(t, words)); err != nil || got != strings.NewReplacer("<", `\u003c`).Replace(want) {
			t.Errorf("%s: %s, %v; want %s", line, got, err, want)
		}
	}
	for line, want := range map[string]string{`a 'b`: "a ' is not closed", `"b`: `a " is not closed`, `a\`: "ends with a backslash"} {
		if words, err := ShellWords(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", line, words, err)
		}
	}
}

// What is quoted for a pilot and cut again is as it was.
func TestShellWordsUndoQuoting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.String()).Draw(t, "words")
		got, err := ShellWords(strings.Join(QuoteAll(words), " "))
		if err != nil || len(got) != len(words) || len(words) > 0 && !cmp.Equal(words, got) {
			t.Fatalf("%q became %q, %v", words, got, err)
		}
	})
}

// maxWalltime bounds what a split may come to; the queues of the task bound it in turn, so that iDDS' 3600 hours keep no job from running.
func TestMaxWalltime(t *testing.T) {
	const bounded = "shares: [{name: A}]\nqueues: [{name: SHORT, walltime: 1h}, {name: LONG, walltime: 96h}]\n"
	const open = "shares: [{name: A}]\nqueues: [{name: SHORT, walltime: 1h}, {name: OPEN}]\n"
	for _, c := range []struct {
		site, more string
		want       spec.Walltime
		fault      string
	}{
		{bounded, `"maxWalltime": 3600`, 96 * 3600, ""},
		{bounded, `"maxWalltime": 90000`, 96 * 3600, ""},
		{bounded, `"maxWalltime": 3600, "site": "SHORT"`, 3600, ""},
		{bounded, `"maxWalltime": 3600, "excludedSite": "LONG"`, 3600, ""},
		{bounded, `"maxWalltime": 2`, 2 * 3600, ""},
		{bounded, `"maxWalltime": 3600, "walltime": 60`, 60, ""},
		{bounded, `"maxWalltime": 3600, "useScout": true`, 96 * 3600, ""},
		{open, `"maxWalltime": 3600`, 3600 * 3600, ""},
		{open, `"maxWalltime": 90000`, spec.MaxWalltime, ""},
		{open, `"walltime": 1e9`, 0, "walltime: "},
		{open, `"cpuTime": 1e12, "nEventsPerJob": 10`, 0, "cpuTime: "},
	} {
		given, err := wire.ParseJSON([]byte(`{"taskName": "t", "userName": "u", "noInput": true, "nEvents": 10, "jobParameters": "true", ` + c.more + `}`))
		if err != nil {
			t.Fatal(err)
		}
		s, _, err := Translate(given, siteOf(t, c.site))
		if (err == nil) != (c.fault == "") || err != nil && !strings.HasPrefix(err.Error(), c.fault) || s.Requirements.Walltime != c.want {
			t.Errorf("%s: walltime %v, want %v; %v", c.more, s.Requirements.Walltime, c.want, err)
		}
	}
	s := &spec.Spec{Queues: []string{"SHORT"}}
	for more, want := range map[string]spec.Walltime{`{"maxWalltime": 3600}`: 3600, `{"maxWalltime": 3600, "site": "LONG"}`: 96 * 3600} {
		given, err := wire.ParseJSON([]byte(more))
		if err != nil {
			t.Fatal(err)
		}
		if changes, err := ChangesOf(given, siteOf(t, bounded), s); err != nil || *changes.Walltime != want {
			t.Errorf("retry with %s: %v %v", more, *changes.Walltime, err)
		}
	}
}
