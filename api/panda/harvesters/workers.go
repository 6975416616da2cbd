package harvesters

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/internal/harvester"
)

// updateWorkers keeps workers; the answer has a true for each. One that cannot be read spoils them all.
func (s Calls) updateWorkers(r *http.Request, a wire.Args) wire.Envelope {
	workers := make([]harvester.Worker, len(a.List("workers")))
	done := make([]bool, len(workers))
	for i, item := range a.List("workers") {
		var err error
		if workers[i], err = workerOf(item); err != nil {
			return wire.Bad("workers[%d]: %s", i, err)
		}
		done[i] = true
	}
	return wire.Answer(s.Below, r, "update_workers", func(ctx context.Context) ([]bool, error) {
		return done, s.Workers.Update(ctx, wire.Clean(a.Text("harvester_id")), workers)
	})
}

// NoteWorker notes what the pilot of a worker said of itself. Pilots that no Harvester has sent say it as well: that is
// nothing to be noted.
func (s Calls) NoteWorker(r *http.Request, worker string, p harvester.Said) wire.Envelope {
	id, err := strconv.ParseInt(worker, 10, 64)
	if s.Workers == nil || err != nil {
		return wire.Good(nil)
	}
	return wire.Answer(s.Below, r, "status of a worker's pilot", func(ctx context.Context) (any, error) {
		p.Worker, p.Harvester, p.Node = id, wire.Clean(p.Harvester), wire.Clean(p.Node)
		_, err := s.Workers.PilotStatus(ctx, p)
		return nil, err
	})
}

// workerParams lists the known arguments of a worker; others are stored as they are.
var workerParams = wire.Params{"workerID": wire.Integer | wire.Needed, "status": wire.Text | wire.Needed, "computingSite": wire.Text, "queueName": wire.Text, "jobType": wire.Text,
	"resourceType": wire.Text, "submitTime": wire.Text, "startTime": wire.Text, "endTime": wire.Text}

// errNotDict is for an element of a list that should describe something.
var errNotDict = errors.New("Type error: it must be of type dict")

func workerOf(item any) (w harvester.Worker, err error) {
	said, ok := wire.CleanAll(item).(map[string]any)
	if !ok {
		return w, errNotDict
	}
	known, fields := wire.Args{}, map[string]any{}
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
		if *t.to, err = wire.TimeOf(known.Text(t.name)); err != nil {
			return w, fmt.Errorf("Type error: '%s': %w", t.name, err)
		}
	}
	return w, nil
}

// serviceMetrics keeps figures of hosts: triples of a time, a host, and figures as JSON in a string.
func (s Calls) serviceMetrics(r *http.Request, a wire.Args) wire.Envelope {
	all := make([]harvester.Metrics, len(a.List("metrics")))
	for i, item := range a.List("metrics") {
		var err error
		if all[i], err = metricsOf(item); err != nil {
			return wire.Bad("metrics[%d]: %s", i, err)
		}
	}
	return wire.Answer(s.Below, r, "update_service_metrics", func(ctx context.Context) ([]bool, error) {
		return []bool{true}, s.Workers.AddMetrics(ctx, wire.Clean(a.Text("harvester_id")), all)
	})
}

func metricsOf(item any) (m harvester.Metrics, err error) {
	three, ok := wire.CleanAll(item).([]any)
	if !ok || len(three) != 3 {
		return m, errors.New("Type error: expected a list of a time, a host and figures")
	}
	said, _ := wire.ToText(three[0])
	at, err := wire.TimeOf(said)
	if err != nil || at == nil {
		return m, fmt.Errorf("Type error: the time must be like 2024-11-02 00:02:18, got %v", three[0])
	}
	if m.Host, ok = wire.ToText(three[1]); !ok {
		return m, fmt.Errorf("Type error: the host must be of type str, got %s.", wire.KindOf(three[1]))
	}
	if m.Figures, ok = wire.CleanAll(wire.Unwrap(three[2])).(map[string]any); !ok {
		return m, errors.New("Type error: the figures must be a dict as JSON")
	}
	m.At = *at
	return m, nil
}

var dialogParams = wire.Params{"diagID": wire.Integer | wire.Needed, "moduleName": wire.Text, "identifier": wire.Text, "creationTime": wire.Text, "messageLevel": wire.Text, "diagMessage": wire.Text}

// addDialogs keeps messages.
func (s Calls) addDialogs(r *http.Request, a wire.Args) wire.Envelope {
	all := make([]harvester.Dialog, len(a.List("dialogs")))
	for i, item := range a.List("dialogs") {
		var err error
		if all[i], err = dialogOf(item); err != nil {
			return wire.Bad("dialogs[%d]: %s", i, err)
		}
	}
	return wire.Answer(s.Below, r, "add_dialogs", func(ctx context.Context) (any, error) {
		return nil, s.Workers.AddDialogs(ctx, wire.Clean(a.Text("harvester_id")), all)
	})
}

func dialogOf(item any) (d harvester.Dialog, err error) {
	said, ok := wire.CleanAll(item).(map[string]any)
	if !ok {
		return d, errNotDict
	}
	a, err := dialogParams.Read(wire.Args(said))
	if err != nil {
		return d, err
	}
	at, err := wire.TimeOf(a.Text("creationTime"))
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
