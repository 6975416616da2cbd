package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/generator"
)

// A file of inputs that cannot be is refused before anything is submitted: there is no daemon here.
func TestInputsFileIsReadFirst(t *testing.T) {
	folder := t.TempDir()
	specs := []generator.Spec{{Name: "fine", InputsFile: "fine.csv"}, {Name: "bad", InputsFile: "bad.csv"}}
	for text, want := range map[string]string{"name,size\na,big\n": `bad.csv: line 2: size: "big" is not a whole number`, "name\n": "bad.csv: has no inputs"} {
		for file, text := range map[string]string{"fine.csv": "name\na\n", "bad.csv": text} {
			if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := &submission{folder: folder}
		if err := s.all(t.Context(), "tasks.yml", specs); err == nil || !strings.HasPrefix(err.Error(), "task bad: inputs_file: ") || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestSplitting(t *testing.T) {
	for want, s := range map[string]client.TaskSpec{
		"7 bytes a job": {Split: &generator.Split{By: "bytes", PerJob: 7}},
		"by inputs, as large as fits each queue, 9 at most":                             {Split: &generator.Split{Fit: true, PerQueue: true, MaxPerJob: 9}},
		"by events, as large as fits all queues, 5 at most while CPU time is not known": {Events: &generator.Events{Total: 8}, Split: &generator.Split{Fit: true, PerJob: 5}},
	} {
		if got := splitting(&s); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
