package spec

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher/job"
)

func TestParseSpecs(t *testing.T) {
	src, err := os.ReadFile("testdata/good.all.yml")
	if err != nil {
		t.Fatal(err)
	}
	specs, err := ParseSpecs("good.all.yml", src)
	if err != nil {
		t.Fatal(err)
	}
	want := []Spec{
		{Name: "mc-evgen", User: "alice", Kind: Kind{Label: "managed", WorkingGroup: "GP_PHYS", Campaign: "mc23", ProcessingType: "evgen",
			Transformation: "Gen_tf.py", ResourceType: "SCORE", VO: "atlas", Labels: map[string]string{"site": "north"}}, Share: "Prod/MC",
			Priority:     -900,
			Requirements: Requirements{Cores: 1, MemoryMB: 2000, DiskMB: 1000, Walltime: 26 * 3600, Labels: map[string]string{"os": "el9"}},
			Queues:       []string{"CERN", "gpu-*", "os=el9", "!gpu-7"}, Command: []string{"sh", "-c", "echo piece {{.Index}}"},
			Env: map[string]string{"A": "{{.Index}}"}, Attempts: Attempts{MaxAttempts: 5,
				MaxFailures: 3, Backoff: 300, MaxBackoff: 7200, QuarantineAfter: 4}, Count: 1000,
			Place: Place{Image: "docker.io/library/python:3.{{.Index}}", Paths: job.Paths{Dir: "/data/run-{{.Index}}", Stdout: "/data/{{.Task}}_{{.Index}}.out", Stderr: "/data/{{.Job}}.err"}}},
		{Name: "as json", User: "bob", Command: []string{"echo"}, Source: Source{Inputs: Named("a", "b"), PerJob: 2}},
		{Name: "events", User: "bob", Command: []string{"run", "{{.FirstEvent}}", "{{.Events}}"}, Source: Source{Events: &Events{Total: 1000, PerJob: 300}}},
		{Name: "matrix", User: "bob", Command: []string{"run", "{{.seed}}", "{{.os}}"},
			Matrix: []job.Axis{{Name: "seed", Values: []string{"1", "2", "3"}}, {Name: "os", Values: []string{"el8", "el9"}}}},
		{Name: "file", User: "bob", Command: []string{"run", "{{.Input}}"}, Source: Source{InputsFile: "inputs.txt"}},
	}
	if d := cmp.Diff(want, specs); d != "" {
		t.Error(d)
	}
	for i, pieces := range []int64{1000, 1, 4, 6} {
		if s := specs[i].WithDefaults(); s.Work().Pieces != pieces {
			t.Errorf("%s makes %d pieces, want %d", s.Name, s.Work().Pieces, pieces)
		}
	}
	for _, s := range specs { // the API's form says the same
		body, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back Spec
		err = json.Unmarshal(body, &back)
		if d := cmp.Diff(s, back); d != "" || err != nil {
			t.Errorf("%v: %s", err, d)
		}
	}
}

// Every fault of a file is named, with its place, in one go.
func TestParseSpecsBad(t *testing.T) {
	src, err := os.ReadFile("testdata/bad.many.yml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/bad.many.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, err = ParseSpecs("bad.many.yml", src)
	if err == nil {
		t.Fatal("accepted")
	}
	if d := cmp.Diff(strings.TrimSpace(string(want)), err.Error()); d != "" {
		t.Error(d)
	}
	for src, want := range map[string]string{
		"":          "no task in this file",
		"- name: x": "expected a mapping",
		"name: [":   "not valid YAML",
		"name: x\nuser: y\ncommand: [a]\ninputs_streamed: true": "unknown key",
		"name: x\nuser: y\ncommand: [a]\ncount: 10000001":       "count: 10000001 is more than 10000000",
	} {
		if _, err := ParseSpecs("f", []byte(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", src, err, want)
		}
	}
}

// What jobs need of resources is part of their shape, with whose part they take; others are of one shape, whoever asks.
func TestShapeOfResources(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{"user: alice\nsharing_id: film\n", ": "},
		{"user: alice\nresources: {maya: 2}\n", "maya 2: alice"},
		{"user: alice\nsharing_id: film\nresources: {maya: 2}\n", "maya 2: film"},
	} {
		specs, err := ParseSpecs("f", []byte("name: t\nlabel: x\ncommand: [\"true\"]\ncount: 1\n"+c.spec))
		if err != nil {
			t.Fatal(err)
		}
		shape := specs[0].Shape()
		units := ""
		for name, n := range shape.Resources {
			units = fmt.Sprintf("%s %d", name, n)
		}
		if got := units + ": " + shape.SharingID; got != c.want {
			t.Errorf("%s: %q, want %q", c.spec, got, c.want)
		}
	}
}

func TestResourceType(t *testing.T) {
	for want, r := range map[string]Requirements{
		"SCORE": {Cores: 1, MemoryMB: 2000}, "SCORE_HIMEM": {Cores: 1, MemoryMB: 2001},
		"MCORE": {Cores: 8, MemoryMB: 16000}, "MCORE_HIMEM": {Cores: 8, MemoryMB: 16001},
	} {
		if got := job.Class((&Spec{Requirements: r}).Shape()); got != want {
			t.Errorf("%+v: %s, want %s", r, got, want)
		}
	}
}

func FuzzParseSpecs(f *testing.F) {
	for _, name := range []string{"testdata/good.all.yml", "testdata/bad.many.yml", "testdata/good.groups.yml", "testdata/bad.groups.yml"} {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		specs, err := ParseSpecs("f", src)
		if err != nil {
			return
		}
		for _, s := range specs {
			if err := s.Check(); err != nil {
				t.Errorf("parsed, but %v", err)
			}
			if w := s.WithDefaults(); s.InputsFile == "" && (w.Work().Pieces < 1 || w.Work().Pieces > MaxPieces) {
				t.Errorf("%d pieces", w.Work().Pieces)
			}
		}
	})
}
