package panda

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/divvyhq/divvy/api/panda/taskspec"
	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/view"
)

// Reasons of calls that have nothing to act on here.
const (
	noStaging   = "inputs are not staged, no task waits for that"
	noEvents    = "jobs are not made of single events"
	noClones    = "a job runs once at a time"
	asSubmitted = "a task keeps its parameters, but for share and priority: reassign_global_share, change_priority"
)

// refused is a call of PanDA's that divvy does not serve: its method, and the reason to answer.
type refused struct{ method, why string }

// notServed lists the calls about tasks that divvy does not serve.
var notServed = map[string]refused{
	"reload_input":           {http.MethodPost, taskspec.NoCatalog + "; retry tries again what did not finish"},
	"reassign":               {http.MethodPost, taskspec.NoBroker + "; reassign_global_share gives it to another share"},
	"increase_attempts":      {http.MethodPost, "retry gives what did not finish maxAttempt attempts more, once the task is over"},
	"change_attribute":       {http.MethodPost, asSubmitted},
	"change_split_rule":      {http.MethodPost, asSubmitted},
	"enable_jumbo_jobs":      {http.MethodPost, noEvents},
	"get_jumbo_job_datasets": {http.MethodGet, noEvents},
	"enable_job_cloning":     {http.MethodPost, noClones},
}

// refusals answers these calls, whatever their arguments.
func refusals(group string, calls map[string]refused) []wire.Endpoint {
	var all []wire.Endpoint
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		c := calls[name]
		all = append(all, wire.By(c.method, "/"+group+"/"+name, wire.Params{wire.AnyName: wire.Anything}, func(*http.Request, wire.Args) wire.Envelope {
			return wire.Bad("%s is not served here: %s", name, c.why)
		}))
	}
	return all
}

// soAlready lists calls that ask for what every task in divvy has already, with the answer.
var soAlready = map[string]struct {
	takes wire.Params
	words string
}{
	"release":                  {nil, noStaging},
	"change_modification_time": {wire.Params{"hour_offset": wire.Integer | wire.Needed}, "tasks are looked at all the time, not by their modification time"},
}

// alreadySo answers them, for tasks that there are.
func (s tasks) alreadySo() []wire.Endpoint {
	var all []wire.Endpoint
	for _, name := range slices.Sorted(maps.Keys(soAlready)) {
		c := soAlready[name]
		all = append(all, wire.ByPost("/task/"+name, oneTask(c.takes), func(r *http.Request, a wire.Args) wire.Envelope {
			return s.nothingToDo(r, a, name, c.words)
		}))
	}
	return append(all, wire.ByPost("/task/disable_job_cloning", wire.Params{"jedi_task_id": wire.Integer, "task_id": wire.Integer},
		func(r *http.Request, a wire.Args) wire.Envelope {
			if _, said := a["task_id"]; !said {
				a["task_id"] = a.Integer("jedi_task_id")
			}
			return s.nothingToDo(r, a, "disable_job_cloning", noClones)
		}))
}

func (s tasks) nothingToDo(r *http.Request, a wire.Args, call, words string) wire.Envelope {
	return s.ofTask(r, a, call, func(t view.Task) wire.Envelope {
		return wire.Envelope{Success: true, Message: fmt.Sprintf("task %d is as it was: %s", t.ID, words), Data: taskOK}
	})
}

// reactivate makes new jobs for pieces that did not finish. For an unknown task PanDA's server answers success, with
// the fault in the message; its programs expect that.
func (s tasks) reactivate(r *http.Request, a wire.Args) wire.Envelope {
	e := s.doneToTask(generator.VerbRetry, s.tryAgain)(r, a)
	if e.Data == taskUnknown {
		return wire.Envelope{Success: true, Message: "unknown task", Data: taskOK}
	}
	return e
}
