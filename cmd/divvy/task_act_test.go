package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/generator"
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

// What a change of share and of priority made of tasks, or would, is said with both sides of it.
func TestTaskActed(t *testing.T) {
	moved := &generator.TaskReassigned{Task: 7, From: "A/x", Moved: true, Ready: 3}
	stays := &generator.TaskReassigned{Task: 7, From: "B", Moved: true, Ready: 3}
	for want, c := range map[string]struct {
		out client.Acted
		t   client.TaskActed
	}{
		"task 7: A/x → B: 3 ready jobs":                         {client.Acted{To: "B"}, client.TaskActed{Task: 7, Changed: true, Reassigned: moved}},
		"task 7: it is in B already; now went 3 ready jobs too": {client.Acted{To: "B"}, client.TaskActed{Task: 7, Changed: true, Reassigned: stays}},
		"task 7: A/x → B":                                       {client.Acted{To: "B", DryRun: true}, client.TaskActed{Task: 7, Changed: true, Reassigned: moved}},
		"task 7: priority 1 → 2":                                {client.Acted{DryRun: true}, client.TaskActed{Task: 7, Changed: true, Priority: &client.PriorityChange{Task: 7, Before: 1, After: 2}}},
	} {
		if got := taskActed(c.out, c.t); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestPatchOfChanges(t *testing.T) {
	got, err := patchOf([]string{"name=x y", "requirements.memory_mb=8000", "requirements.walltime=12h", "queues=[a, b]", "share=", "labels={on: 2026-1-2, at: [2026-01-02T10:00:00Z]}"})
	const want = `{"labels":{"at":["2026-01-02T10:00:00Z"],"on":"2026-1-2"},"name":"x y","queues":["a","b"],"requirements":{"memory_mb":8000,"walltime":"12h"},"share":null}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	for _, bad := range []string{"name", "=1", "name=[a", "labels.=1", ".name=1", "labels={1: x}", "priority=.nan"} {
		if _, err := patchOf([]string{bad}); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("--set %q: ", bad)) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Documents go in order, those with files of their own alone, in requests of bounded size.
func TestTasksOfOneRequest(t *testing.T) {
	plain, file := generator.Spec{Name: "a"}, generator.Spec{Name: "b", InputsFile: "f"}
	needs := generator.Spec{Name: "d", Needs: []generator.Need{{}}}
	big := generator.Spec{Name: "c", Command: []string{string(make([]byte, batchBytes/3))}}
	many := make([]generator.Spec, batchTasks+10)
	for _, c := range []struct {
		specs []generator.Spec
		want  int
	}{
		{[]generator.Spec{plain}, 0}, {[]generator.Spec{file, plain}, 0}, {[]generator.Spec{plain, plain, needs}, 2}, {[]generator.Spec{needs, plain, plain}, 0}, {[]generator.Spec{plain, plain, file}, 2},
		{[]generator.Spec{plain, file, plain}, 0}, {many, batchTasks}, {[]generator.Spec{big, big, big}, 0},
	} {
		docs := make([]document, len(c.specs))
		for i, spec := range c.specs {
			docs[i].Spec = spec
		}
		if got := inOneRequest(docs); got != c.want {
			t.Errorf("%d specs: %d, want %d", len(c.specs), got, c.want)
		}
	}
}
