package generator

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/spec"
)

const splitSite = `
shares: [{name: S}]
queues:
  - {name: small, slots: 100, walltime: 1h, disk_mb: 3000}
  - {name: large, slots: 100, walltime: 4h, disk_mb: 20000, locations: [EOS]}
`

// splitWorld is a world with queues that differ in what they allow.
func splitWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.apply(t, splitSite)
	w.mark(broker.Mark{Floor: 10_000, Batch: 7})
	return w
}

func splitting(change func(*spec.Spec)) spec.Spec {
	s := spec.Spec{Name: "split", User: "alice", Share: "S", Command: []string{"true"}}
	change(&s)
	return s
}

// jobsOf writes the jobs of a task: inputs, events, walltime and scratch.
func (w *world) jobsOf(t *testing.T, id int64) string {
	t.Helper()
	return jobs[string](t, w, `SELECT coalesce(string_agg(concat_ws(' ', coalesce(array_to_string(j.inputs, ','), '-'), j.first_event || '+' || j.n_events,
			nullif(s.walltime_s, 0) || 's', nullif(s.disk_mb, 0) || 'MB'), '; ' ORDER BY j.idx), '')
		FROM live_jobs j JOIN shapes s ON s.id = j.shape_id WHERE j.task_id = $1`, id)
}

// The last partial piece is right, pieces fit, and the number of pieces is exact in the end.
func TestSplit(t *testing.T) {
	w := splitWorld(t)
	for name, c := range map[string]struct {
		change func(*spec.Spec)
		want   string
	}{
		"events":        {func(s *spec.Spec) { s.Events, s.Split = &spec.Events{Total: 7}, &spec.Split{PerJob: 3} }, "- 0+3; - 3+3; - 6+1"},
		"inputs":        {func(s *spec.Spec) { s.Inputs, s.Split = spec.Named("a", "b", "c"), &spec.Split{PerJob: 2} }, "a,b; c"},
		"bytes":         {func(s *spec.Spec) { s.Inputs, s.Split = sized(5, 5, 20, 1), &spec.Split{By: "bytes", PerJob: 10} }, "0,1; 2; 3"},
		"shared inputs": {func(s *spec.Spec) { s.Inputs, s.Split = eventful(5, 1, 1), &spec.Split{By: "events", PerJob: 3} }, "0 0+3; 0 3+2; 1,2 0+2"},
		"walltime": {func(s *spec.Spec) {
			s.Events, s.Split = &spec.Events{Total: 7000}, &spec.Split{Fit: true, CPUPerEvent: 1, Efficiency: 1}
		}, "- 0+3600 3600s; - 3600+3400 3600s"},
		"cores and base": {func(s *spec.Spec) {
			s.Requirements.Cores = 2
			s.Events, s.Split = &spec.Events{Total: 7000}, &spec.Split{Fit: true, CPUPerEvent: 1, Efficiency: 1, BaseWalltime: 600}
		}, "- 0+6000 3600s; - 6000+1000 3600s"},
		"scratch": {func(s *spec.Spec) {
			s.Inputs, s.Split = sized(900e6, 900e6, 900e6, 100e6), &spec.Split{Fit: true, WorkMB: 500}
		}, "0,1 3000MB; 2,3 3000MB"},
		"per_job while CPU time is not known": {func(s *spec.Spec) {
			s.Requirements.Walltime = 24 * 3600
			s.Inputs, s.Split = []spec.Input{{Name: "a", Size: 900e6, Events: 250}}, &spec.Split{By: "events", Fit: true, PerJob: 100, BaseWalltime: 600, WorkMB: 500}
		}, "a 0+100 3600s 3000MB; a 100+100 3600s 3000MB; a 200+50 3600s 3000MB"},
		"a queue is too small for an event": {func(s *spec.Spec) {
			s.Inputs, s.Split = []spec.Input{{Name: "a", Size: 4e9, Events: 20_000}}, &spec.Split{By: "events", Fit: true, CPUPerEvent: 1, Efficiency: 1, WorkMB: 500}
		}, "a 0+14400 14400s 20000MB; a 14400+5600 14400s 20000MB"},
		"a queue is too small for one of the inputs": {func(s *spec.Spec) {
			s.Inputs = []spec.Input{{Name: "a", Size: 4e9, Events: 5000}, {Name: "b", Events: 10}, {Name: "c", Events: 10}}
			s.Split = &spec.Split{By: "events", Fit: true, CPUPerEvent: 1, Efficiency: 1, WorkMB: 500}
		}, "a 0+3600 3600s 5120MB; a 3600+1400 1408s 5120MB; b,c 0+20 3600s 3000MB"},
		"only the large queue": {func(s *spec.Spec) {
			s.Queues = []string{"large"}
			s.Events, s.Split = &spec.Events{Total: 20_000}, &spec.Split{Fit: true, CPUPerEvent: 1, Efficiency: 1, MaxPerJob: 12_000}
		}, "- 0+12000 14400s; - 12000+8000 14400s"},
		"larger where that fits": {func(s *spec.Spec) {
			s.Events, s.Split = &spec.Events{Total: 20_000}, &spec.Split{Fit: true, PerQueue: true, CPUPerEvent: 1, Efficiency: 1}
		}, "- 0+14400 14400s; - 14400+3600 3600s; - 18000+2000 14400s"},
	} {
		task := w.submit(t, splitting(c.change))
		if task.State != "ready" || task.Pieces == 0 {
			t.Errorf("%s: submitted as %+v", name, task)
		}
		steps(t, w.Generate)
		if got := w.jobsOf(t, task.ID); got != c.want {
			t.Errorf("%s: jobs %s\nwant %s", name, got, c.want)
		}
		got := w.task(t, task.ID)
		if n := int64(strings.Count(c.want, ";") + 1); got.Pieces != n || got.Jobs.Total != n {
			t.Errorf("%s: %d pieces, %d jobs, want %d", name, got.Pieces, got.Jobs.Total, n)
		}
	}
}

// sized are inputs with so many bytes, eventful with so many events.
func sized(bytes ...int64) (inputs []spec.Input) {
	for i, n := range bytes {
		inputs = append(inputs, spec.Input{Name: fmt.Sprint(i), Size: n})
	}
	return inputs
}

func eventful(events ...int64) (inputs []spec.Input) {
	for i, n := range events {
		inputs = append(inputs, spec.Input{Name: fmt.Sprint(i), Events: n})
	}
	return inputs
}

// Inputs with locations fall into lots, however they come, and each lot has its shape.
func TestLotsByLocation(t *testing.T) {
	w := splitWorld(t)
	task := w.submit(t, splitting(func(s *spec.Spec) { s.InputsStreamed, s.PerJob, s.Locality = true, 2, "required" }))
	next := int64(0)
	for _, body := range []string{"\"a\"\n\"b\"", `{"name": "c"}`,
		`{"name": "d", "locations": ["EOS"]}` + "\n" + `{"name": "e", "locations": ["TAPE", "EOS"], "size": 5}` + "\n\"f\"",
		`{"name": "g", "locations": ["EOS", "TAPE"]}` + "\n" + `{"name": "h", "locations": ["EOS"]}` + "\n" + `{"name": "i", "locations": ["EOS"]}`} {
		var err error
		if next, err = w.AddInputs(context.Background(), task.ID, next, strings.NewReader(body)); err != nil {
			t.Fatal(err)
		}
	}
	task, err := w.Commit(context.Background(), task.ID)
	if err != nil || task.Pieces != 5 || task.Inputs != 9 {
		t.Fatalf("%+v, %v", task, err)
	}
	steps(t, w.Generate)
	got := jobs[string](t, w, `SELECT string_agg(array_to_string(j.inputs, ',') || coalesce(' ' || array_to_string(s.locations, '+'), ''), '; ' ORDER BY j.idx)
		FROM live_jobs j JOIN shapes s ON s.id = j.shape_id WHERE j.task_id = $1`, task.ID)
	want := "a,b; c,f; d,h EOS; i EOS; e,g EOS+TAPE"
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// The example of the page does what it says.
func TestSplittingExample(t *testing.T) {
	w := splitWorld(t)
	text, err := os.ReadFile("../docs/examples/splitting/task.yml")
	if err != nil {
		t.Fatal(err)
	}
	specs, err := spec.ParseSpecs("task.yml", text)
	if err != nil {
		t.Fatal(err)
	}
	s := specs[0]
	s.Share, s.InputsFile, s.InputsStreamed = "S", "", true
	task := w.submit(t, s)
	file, err := os.Open("../docs/examples/splitting/" + specs[0].InputsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var lines bytes.Buffer
	if n, err := spec.EncodeInputs(&lines, file, spec.FormatOf(specs[0].InputsFile), 0); err != nil || n != 3 {
		t.Fatal(n, err)
	}
	if _, err := w.AddInputs(t.Context(), task.ID, 0, &lines); err != nil {
		t.Fatal(err)
	}
	if task, err = w.Commit(t.Context(), task.ID); err != nil || task.Jobs.Total != 10 {
		t.Fatalf("%+v, %v", task, err)
	}
	if n := steps(t, w.Generate); n != 10 {
		t.Errorf("%d scouts", n)
	}
	if n := jobs[int](t, w, "SELECT count(DISTINCT shape_id) FROM live_jobs WHERE task_id = $1", task.ID); n != 3 {
		t.Errorf("scouts of %d lots", n)
	}
}
