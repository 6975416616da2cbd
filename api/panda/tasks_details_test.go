package panda

import (
	"os"
	"strings"
	"testing"
)

// The table of states in tasks_details.go is what pandaState says, and has all states.
func TestPandaStates(t *testing.T) {
	src, err := os.ReadFile("tasks_details.go")
	if err != nil {
		t.Fatal(err)
	}
	states := []string{"submitting", "waiting", "ready", "scouting", "running", "paused", "throttled", "exhausted", "finishing", "done", "finished",
		"failed", "aborting", "aborted"}
	for line := range strings.Lines(string(src)) {
		cells := strings.Fields(strings.TrimPrefix(line, "//"))
		if len(states) == 0 || len(cells) < 2 || cells[0] != states[0] {
			continue
		}
		if got := pandaState(cells[0]); got != cells[1] {
			t.Errorf("%s is %s in PanDA, the table says %s", cells[0], got, cells[1])
		}
		states = states[1:]
	}
	if len(states) > 0 {
		t.Errorf("not in the table: %v", states)
	}
}
