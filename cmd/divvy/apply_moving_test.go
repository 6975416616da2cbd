package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
)

// A change that is refused while live work moves is asked for again until it is in force, and each time what is left is said.
func TestApplyWhileWorkMoves(t *testing.T) {
	t.Parallel() // it waits
	file := filepath.Join(t.TempDir(), "site.yml")
	if err := os.WriteFile(file, []byte("shares: [{name: B}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"apply", "-f", file, "--move", "A=B"}, {"shares", "rollback", "1", "--move", "A=B"}} {
		asked := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked++; asked > 1 {
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(wire.Applied{Version: 7})
				return
			}
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusServiceUnavailable)
			// Longer than the client goes on by itself.
			_ = json.NewEncoder(w).Encode(wire.Problem{Title: "Live work moves first", Status: 503, Code: "moving", Detail: "some are left", RetryAfterS: 3})
		}))
		o := divvy(t, append(args, "--server", s.URL)...)
		s.Close()
		if o.code != fail.OK || asked != 2 || o.err != "some are left\n" || !strings.Contains(o.out, "version 7") {
			t.Errorf("%v: asked %d times, %+v", args, asked, o)
		}
	}
}
