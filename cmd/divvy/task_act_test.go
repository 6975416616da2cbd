package main

import (
	"testing"

	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/golden"
)

// Tasks that refuse are said beside the others, and the command fails.
func TestManyTasksAtOnce(t *testing.T) {
	server := fakeServer(t, map[string]string{"POST /v1/tasks/actions": "acted_many.json"})
	o := divvy(t, "task", "kill", "--user", "alice", "--server", server)
	golden.Equal(t, "testdata/golden/task-kill-many.txt", o.out)
	golden.Equal(t, "testdata/golden/task-kill-many-refused.txt", o.err)
	if o.code != fail.Failed {
		t.Errorf("exit code %d", o.code)
	}
}
