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

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
)

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
		var many struct{ Tasks []wire.KeyedTask }
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
