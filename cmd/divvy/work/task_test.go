package work

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	gates "github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/generator/spec"
)

func TestQuoted(t *testing.T) {
	got := quoted([]string{"sh", "-c", "echo 'it' {{.Index}}", ""})
	if want := `sh -c 'echo '\''it'\'' {{.Index}}' ''`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A task is explained by its next job, or by a piece that is no job yet, with what comes before that.
func TestTaskExplain(t *testing.T) {
	next := &wire.Explanation{Share: "Test", State: "waiting", Gate: string(gates.GateStructural), Position: &wire.Position{Before: 40, Ready: 3},
		ETA: &wire.ETA{How: "unknown: no queue can run it"}, Queues: []wire.QueueGate{{Queue: "CERN", Gate: string(gates.GateStructural), Reason: "cores: needs 64, queue allows 8"}}}
	e := wire.TaskExplanation{Task: 7, Share: "Test", State: "ready", Summary: "None of its 9 pieces is a job yet.", ToCome: 9, Next: next}
	for want, change := range map[string]func(){
		"a piece that is no job yet": func() {},
		"next      job 12":           func() { next.Job = 12 },
		"0 ready, 0 leased, 9 to":    func() { e.Next = nil },
	} {
		change()
		var b strings.Builder
		writeTaskExplanation(cli.Paper{Writer: &b}, e)
		if !strings.HasPrefix(b.String(), e.Summary) || !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
		if e.Next != nil && !strings.Contains(b.String(), "cores: needs 64") {
			t.Error(b.String())
		}
		*next = wire.Explanation{Share: "Test", Queues: next.Queues, Position: next.Position, ETA: next.ETA}
		e.Next = next
	}
}

// What a change of share and of priority made of tasks, or would, is said with both sides of it.
func TestTaskActed(t *testing.T) {
	moved := &wire.TaskReassigned{Task: 7, From: "A/x", Moved: true, Ready: 3}
	stays := &wire.TaskReassigned{Task: 7, From: "B", Moved: true, Ready: 3}
	for want, c := range map[string]struct {
		out wire.Acted
		t   wire.TaskActed
	}{
		"task 7: A/x → B: 3 ready jobs":                         {wire.Acted{To: "B"}, wire.TaskActed{Task: 7, Changed: true, Reassigned: moved}},
		"task 7: it is in B already; now went 3 ready jobs too": {wire.Acted{To: "B"}, wire.TaskActed{Task: 7, Changed: true, Reassigned: stays}},
		"task 7: A/x → B":                                       {wire.Acted{To: "B", DryRun: true}, wire.TaskActed{Task: 7, Changed: true, Reassigned: moved}},
		"task 7: priority 1 → 2":                                {wire.Acted{DryRun: true}, wire.TaskActed{Task: 7, Changed: true, Priority: &wire.PriorityChange{Task: 7, Before: 1, After: 2}}},
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
	plain, file := spec.Spec{Name: "a"}, spec.Spec{Name: "b", Source: spec.Source{InputsFile: "f"}}
	needs := spec.Spec{Name: "d", Needs: []spec.Need{{}}}
	big := spec.Spec{Name: "c", Command: []string{string(make([]byte, batchBytes/3))}}
	many := make([]spec.Spec, batchTasks+10)
	for _, c := range []struct {
		specs []spec.Spec
		want  int
	}{
		{[]spec.Spec{plain}, 0}, {[]spec.Spec{file, plain}, 0}, {[]spec.Spec{plain, plain, needs}, 2}, {[]spec.Spec{needs, plain, plain}, 0}, {[]spec.Spec{plain, plain, file}, 2},
		{[]spec.Spec{plain, file, plain}, 0}, {many, batchTasks}, {[]spec.Spec{big, big, big}, 0},
	} {
		docs := make([]document, len(c.specs))
		for i, s := range c.specs {
			docs[i].Spec = s
		}
		if got := inOneRequest(docs); got != c.want {
			t.Errorf("%d specs: %d, want %d", len(c.specs), got, c.want)
		}
	}
}

// A file of inputs that cannot be is refused before anything is submitted: there is no daemon here.
func TestInputsFileIsReadFirst(t *testing.T) {
	folder := t.TempDir()
	specs := []spec.Spec{{Name: "fine", Source: spec.Source{InputsFile: "fine.csv"}}, {Name: "bad", Source: spec.Source{InputsFile: "bad.csv"}}}
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
	for want, s := range map[string]wire.TaskSpec{
		"7 bytes a job": {Split: &wire.Split{By: "bytes", PerJob: 7}},
		"by inputs, as large as fits each queue, 9 at most":                             {Split: &wire.Split{Fit: true, PerQueue: true, MaxPerJob: 9}},
		"by events, as large as fits all queues, 5 at most while CPU time is not known": {Events: &wire.TaskEvents{Total: 8}, Split: &wire.Split{Fit: true, PerJob: 5}},
	} {
		if got := splitting(&s); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A list says why nothing of a task can run, also where it is not wide.
func TestListSaysWhatCannotRun(t *testing.T) {
	page := wire.Page[wire.Task]{Items: []wire.Task{{ID: 7, Name: "wide", State: "ready", CannotRun: "no queue can run it; x"}, {ID: 8, Name: "fine", State: "ready"}}}
	for wide, want := range map[bool]int{false: 1, true: 1} {
		var b strings.Builder
		writeTasks(cli.Paper{Writer: &b, Wide: wide, Now: time.Now()}, page)
		if strings.Count(b.String(), "no queue can run it; x") != want {
			t.Errorf("%s", b.String())
		}
	}
	var b strings.Builder
	if writeTask(cli.Paper{Writer: &b, Now: time.Now()}, page.Items[0]); !strings.Contains(b.String(), "no queue can run it; x") {
		t.Errorf("%s", b.String())
	}
}
