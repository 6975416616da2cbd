package panda

import (
	"context"
	"net/http"
	"slices"

	"github.com/divvyhq/divvy/api/panda/taskspec"
	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator/view"
)

// noData is PanDA's answer for a task without datasets of the requested kinds.
const noData = "No data found for the task"

// inputKind is the kind of the only dataset that a task may have in divvy: its inputs.
const inputKind = "input"

// fileStates maps the state of an input's last job to the state of the input.
var fileStates = map[string]string{"leased": "running", "finished": "finished", "failed": "failed", "cancelled": "failed"}

// inputFile is an input of a task. Its number counts from 1.
type inputFile struct {
	LFN    string  `json:"lfn"`
	Scope  *string `json:"scope"`
	ID     int     `json:"id"`
	Status string  `json:"status"`
}

// dataset holds all inputs of a task, under the task's name.
type dataset struct {
	Dataset struct {
		Name string `json:"name"`
		ID   int64  `json:"id"`
	} `json:"dataset"`
	Files []inputFile `json:"files"`
}

// taskFiles lists the inputs of a task with their states, as far as its first mostJobs jobs show.
func (s tasks) taskFiles(r *http.Request, a wire.Args) wire.Envelope {
	if kinds := a.List("dataset_types"); kinds != nil && !slices.Contains(kinds, any(inputKind)) {
		return wire.Bad(noData)
	}
	return s.ofTask(r, a, "get_datasets_and_files", func(t view.Task) wire.Envelope {
		var d dataset
		d.Dataset.Name, d.Dataset.ID, d.Files = t.Name, t.ID, []inputFile{}
		if a.Boolean("dataset_only") && t.Inputs > 0 {
			return wire.Good([]dataset{d})
		}
		e := wire.Answer(s.below(), r, "get_datasets_and_files", func(ctx context.Context) ([]dataset, error) {
			ids, err := s.Jobs.JobIDs(ctx, dispatcher.JobChoice{Task: t.ID, Live: true, Ended: endedStates, Limit: mostJobs})
			if err != nil {
				return nil, err
			}
			jobs, err := s.Jobs.JobsByID(ctx, ids)
			d.fill(t, jobs)
			return []dataset{d}, err
		})
		if e.Success && len(d.Files) == 0 {
			return wire.Bad(noData)
		}
		return e
	})
}

// fill adds the names with which the task was submitted, and those of its jobs.
func (d *dataset) fill(t view.Task, jobs []dispatcher.JobRow) {
	at := map[string]int{}
	note := func(name, status string) {
		i, there := at[name]
		if !there {
			i, at[name] = len(d.Files), len(d.Files)
			d.Files = append(d.Files, inputFile{LFN: name, ID: i + 1})
		}
		d.Files[i].Status = status
	}
	given, _ := wire.ParseJSON(keptOf(t).Parameters) // none for a task that came in another way
	for _, name := range (&taskspec.Reading{Left: given}).Names("pfnList") {
		note(name, "ready")
	}
	for _, j := range jobs { // by rising id, so that a retry counts last
		for _, name := range j.Inputs {
			status, known := fileStates[j.State]
			if !known {
				status = "ready"
			}
			note(name, status)
		}
	}
}
