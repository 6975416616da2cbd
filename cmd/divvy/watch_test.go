package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/work"
)

// tellTask answers with one task after the other; the last one stays.
func tellTask(t *testing.T, tasks ...wire.Task) string {
	t.Helper()
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		i := min(int(asked.Add(1)), len(tasks)) - 1
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(tasks[i])
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// The exit code says how the task ended, and a line is written whenever something has changed.
func TestWatchTask(t *testing.T) {
	at := time.Now()
	running := wire.Task{ID: 7, State: "running", Jobs: wire.JobCounts{Total: 10, Leased: 2, Ready: 6, Finished: 2}}
	for state, code := range map[string]int{"done": 0, "finished": 3, "failed": 4, "aborted": 5} {
		over := wire.Task{ID: 7, State: state, EndedAt: &at, Jobs: wire.JobCounts{Total: 10, Finished: 10}}
		o := divvy(t, "watch", "task", "7", "--every", "100ms", "--server", tellTask(t, running, running, over))
		want := fmt.Sprintf("task 7 running [████················] 2 of 10 jobs over, 2 leased, 6 ready\ntask 7 %s [████████████████████] 10 of 10 jobs over\n", state)
		if o.code != code || o.out != want || o.err != "" {
			t.Errorf("%s: %+v, want code %d and\n%s", state, o, code, want)
		}
	}
	over := running
	over.State, over.EndedAt = "failed", &at
	o := divvy(t, "watch", "task", "7", "--every", "100ms", "-o", "json", "--server", tellTask(t, running, over))
	var got wire.Task
	if err := json.Unmarshal([]byte(o.out), &got); err != nil || got.State != "failed" || o.code != 4 {
		t.Errorf("%v %+v", err, o)
	}
}

// A command runs once for each state, knows it, and changes nothing.
func TestWatchRuns(t *testing.T) {
	at := time.Now()
	running, over := wire.Task{ID: 7, State: "running"}, wire.Task{ID: 7, State: "failed", EndedAt: &at}
	o := divvy(t, "watch", "task", "7", "--every", "100ms", "--exec", `echo "$DIVVY_EVENT $DIVVY_STATE $DIVVY_TASK $(grep -c '"id":7')"; exit 9`, "--server", tellTask(t, running, running, over))
	want := "task.running running 7 1\ndivvy: --exec for task.running: exit status 9\ntask.failed failed 7 1\ndivvy: --exec for task.failed: exit status 9\n"
	if o.code != 4 || o.err != want {
		t.Errorf("%+v, want %q", o, want)
	}
}

func TestWatchTaskGivesUp(t *testing.T) {
	running := wire.Task{ID: 7, State: "running"}
	o := divvy(t, "watch", "task", "7", "--every", "100ms", "--timeout", "300ms", "--server", tellTask(t, running))
	if o.code != work.ExitTimeout || !strings.Contains(o.err, "--timeout is over before task 7") {
		t.Errorf("%+v", o)
	}
	for _, bad := range [][]string{{"x"}, {"7", "--every", "1ms"}, {"7", "--timeout", "-1s"}} {
		if o := divvy(t, append([]string{"watch", "task", "--server", "http://127.0.0.1:1"}, bad...)...); o.code != fail.Usage {
			t.Errorf("%v: %+v", bad, o)
		}
	}
}
