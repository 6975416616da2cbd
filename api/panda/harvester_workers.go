package panda

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/divvyhq/divvy/api/panda/call"
	"github.com/divvyhq/divvy/internal/harvester"
)

// updateWorkers keeps workers; the answer has a true for each. One that cannot be read spoils them all.
func (s *server) updateWorkers(r *http.Request, a call.Args) call.Envelope {
	workers := make([]harvester.Worker, len(a.List("workers")))
	done := make([]bool, len(workers))
	for i, item := range a.List("workers") {
		var err error
		if workers[i], err = workerOf(item); err != nil {
			return call.Bad("workers[%d]: %s", i, err)
		}
		done[i] = true
	}
	return answer(s, r, "update_workers", func(ctx context.Context) ([]bool, error) {
		return done, s.Workers.Update(ctx, call.Clean(a.Text("harvester_id")), workers)
	})
}

// noteWorker notes what the pilot of a worker said of itself. Pilots that no Harvester has sent say it as well: that is
// nothing to be noted.
func (s *server) noteWorker(r *http.Request, worker string, p harvester.Said) call.Envelope {
	id, err := strconv.ParseInt(worker, 10, 64)
	if s.Workers == nil || err != nil {
		return call.Good(nil)
	}
	return answer(s, r, "status of a worker's pilot", func(ctx context.Context) (any, error) {
		p.Worker, p.Harvester, p.Node = id, call.Clean(p.Harvester), call.Clean(p.Node)
		_, err := s.Workers.PilotStatus(ctx, p)
		return nil, err
	})
}

// workerParams are what is known of a worker; what else is said of one is kept as it is.
var workerParams = call.Params{"workerID": call.Integer | call.Needed, "status": call.Text | call.Needed, "computingSite": call.Text, "queueName": call.Text, "jobType": call.Text,
	"resourceType": call.Text, "submitTime": call.Text, "startTime": call.Text, "endTime": call.Text}

// errNotDict is for an element of a list that should describe something.
var errNotDict = errors.New("Type error: it must be of type dict")

func workerOf(item any) (w harvester.Worker, err error) {
	said, ok := call.CleanAll(item).(map[string]any)
	if !ok {
		return w, errNotDict
	}
	known, fields := call.Args{}, map[string]any{}
	for name, v := range said {
		if _, in := workerParams[name]; in {
			known[name] = v
		} else if v != nil {
			fields[name] = v
		}
	}
	if known, err = workerParams.Read(known); err != nil {
		return w, err
	}
	w = harvester.Worker{ID: known.Integer("workerID"), Queue: known.Text("computingSite"), Status: known.Text("status"),
		JobType: known.Text("jobType"), ResourceType: known.Text("resourceType"), Fields: fields}
	switch q := known.Text("queueName"); {
	case w.Queue == "":
		w.Queue = q
	case q != "":
		fields["queueName"] = q
	}
	for _, t := range []struct {
		name string
		to   **time.Time
	}{{"submitTime", &w.Submitted}, {"startTime", &w.Started}, {"endTime", &w.Ended}} {
		if *t.to, err = call.TimeOf(known.Text(t.name)); err != nil {
			return w, fmt.Errorf("Type error: '%s': %w", t.name, err)
		}
	}
	return w, nil
}

// serviceMetrics keeps figures of hosts: triples of a time, a host, and figures as JSON in a string.
func (s *server) serviceMetrics(r *http.Request, a call.Args) call.Envelope {
	all := make([]harvester.Metrics, len(a.List("metrics")))
	for i, item := range a.List("metrics") {
		var err error
		if all[i], err = metricsOf(item); err != nil {
			return call.Bad("metrics[%d]: %s", i, err)
		}
	}
	return answer(s, r, "update_service_metrics", func(ctx context.Context) ([]bool, error) {
		return []bool{true}, s.Workers.AddMetrics(ctx, call.Clean(a.Text("harvester_id")), all)
	})
}

func metricsOf(item any) (m harvester.Metrics, err error) {
	three, ok := call.CleanAll(item).([]any)
	if !ok || len(three) != 3 {
		return m, errors.New("Type error: expected a list of a time, a host and figures")
	}
	said, _ := call.ToText(three[0])
	at, err := call.TimeOf(said)
	if err != nil || at == nil {
		return m, fmt.Errorf("Type error: the time must be like 2024-11-02 00:02:18, got %v", three[0])
	}
	if m.Host, ok = call.ToText(three[1]); !ok {
		return m, fmt.Errorf("Type error: the host must be of type str, got %s.", call.KindOf(three[1]))
	}
	if m.Figures, ok = call.CleanAll(call.Unwrap(three[2])).(map[string]any); !ok {
		return m, errors.New("Type error: the figures must be a dict as JSON")
	}
	m.At = *at
	return m, nil
}

var dialogParams = call.Params{"diagID": call.Integer | call.Needed, "moduleName": call.Text, "identifier": call.Text, "creationTime": call.Text, "messageLevel": call.Text, "diagMessage": call.Text}

// addDialogs keeps messages.
func (s *server) addDialogs(r *http.Request, a call.Args) call.Envelope {
	all := make([]harvester.Dialog, len(a.List("dialogs")))
	for i, item := range a.List("dialogs") {
		var err error
		if all[i], err = dialogOf(item); err != nil {
			return call.Bad("dialogs[%d]: %s", i, err)
		}
	}
	return answer(s, r, "add_dialogs", func(ctx context.Context) (any, error) {
		return nil, s.Workers.AddDialogs(ctx, call.Clean(a.Text("harvester_id")), all)
	})
}

func dialogOf(item any) (d harvester.Dialog, err error) {
	said, ok := call.CleanAll(item).(map[string]any)
	if !ok {
		return d, errNotDict
	}
	a, err := dialogParams.Read(call.Args(said))
	if err != nil {
		return d, err
	}
	at, err := call.TimeOf(a.Text("creationTime"))
	if err != nil {
		return d, fmt.Errorf("Type error: 'creationTime': %w", err)
	}
	d = harvester.Dialog{ID: a.Integer("diagID"), Module: a.Text("moduleName"), Identifier: a.Text("identifier"),
		Level: a.Text("messageLevel"), Message: a.Text("diagMessage"), At: time.Now()}
	if at != nil {
		d.At = *at
	}
	return d, nil
}
