package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
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

// What no queue can run is a warning beside the task that there is, and with --strict an error in place of it.
func TestSubmitWarns(t *testing.T) {
	const reason = "no queue can run it; cores: needs 64, no queue allows more than 8"
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/tasks", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"id":7,"name":"wide","state":"ready","share":"Test","cannot_run":%q}`, reason)
	})
	mux.HandleFunc("POST /v1/tasks/batch", func(w http.ResponseWriter, r *http.Request) {
		var many struct{ Tasks []client.KeyedTask }
		if err := json.NewDecoder(r.Body).Decode(&many); err != nil || len(many.Tasks) != 1 || !many.Tasks[0].Strict {
			t.Errorf("%+v, %v", many, err)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"tasks":[{"problem":{"status":422,"code":"invalid","detail":%q}}]}`, reason)
	})
	daemon := httptest.NewServer(mux)
	defer daemon.Close()
	file := filepath.Join(t.TempDir(), "tasks.yml")
	if err := os.WriteFile(file, []byte("name: wide\nuser: alice\ncount: 1\ncommand: [\"true\"]\nrequirements: {cores: 64}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := divvy(t, "--server", daemon.URL, "task", "submit", "-f", file)
	if o.code != fail.OK || !strings.Contains(o.err, "warning: task 7, wide: "+reason) || !strings.Contains(o.out, reason) {
		t.Errorf("%+v", o)
	}
	o = divvy(t, "--server", daemon.URL, "task", "submit", "--strict", "-f", file)
	if o.code == fail.OK || !strings.Contains(o.err, "task wide: ") || !strings.Contains(o.err, reason) || strings.Contains(o.out, "wide") {
		t.Errorf("strict: %+v", o)
	}
}

// A list says why nothing of a task can run, also where it is not wide.
func TestListSaysWhatCannotRun(t *testing.T) {
	page := client.Page[client.Task]{Items: []client.Task{{ID: 7, Name: "wide", State: "ready", CannotRun: "no queue can run it; x"}, {ID: 8, Name: "fine", State: "ready"}}}
	for wide, want := range map[bool]int{false: 1, true: 1} {
		var b strings.Builder
		writeTasks(&b, page, wide, time.Now())
		if strings.Count(b.String(), "no queue can run it; x") != want {
			t.Errorf("%s", b.String())
		}
	}
	var b strings.Builder
	if writeTask(&b, page.Items[0], time.Now()); !strings.Contains(b.String(), "no queue can run it; x") {
		t.Errorf("%s", b.String())
	}
}
