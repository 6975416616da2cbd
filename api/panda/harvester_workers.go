package panda

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/divvyhq/divvy/internal/harvester"
)

// updateWorkers keeps workers; the answer has a true for each. One that cannot be read spoils them all.
func (s *server) updateWorkers(r *http.Request, a args) envelope {
	workers := make([]harvester.Worker, len(a.list("workers")))
	done := make([]bool, len(workers))
	for i, item := range a.list("workers") {
		var err error
		if workers[i], err = workerOf(item); err != nil {
			return bad("workers[%d]: %s", i, err)
		}
		done[i] = true
	}
	return answer(s, r, "update_workers", func(ctx context.Context) ([]bool, error) {
		return done, s.Workers.Update(ctx, clean(a.text("harvester_id")), workers)
	})
}

// noteWorker notes what the pilot of a worker said of itself. Pilots that no Harvester has sent say it as well: that is
// nothing to be noted.
func (s *server) noteWorker(r *http.Request, worker string, p harvester.Said) envelope {
	id, err := strconv.ParseInt(worker, 10, 64)
	if s.Workers == nil || err != nil {
		return good(nil)
	}
	return answer(s, r, "status of a worker's pilot", func(ctx context.Context) (any, error) {
		p.Worker, p.Harvester, p.Node = id, clean(p.Harvester), clean(p.Node)
		_, err := s.Workers.PilotStatus(ctx, p)
		return nil, err
	})
}

// workerParams are what is known of a worker; what else is said of one is kept as it is.
var workerParams = params{"workerID": integer | needed, "status": text | needed, "computingSite": text, "queueName": text, "jobType": text,
	"resourceType": text, "submitTime": text, "startTime": text, "endTime": text}

// errNotDict is for an element of a list that should describe something.
var errNotDict = errors.New("Type error: it must be of type dict")

func workerOf(item any) (w harvester.Worker, err error) {
	said, ok := cleanAll(item).(map[string]any)
	if !ok {
		return w, errNotDict
	}
	known, fields := args{}, map[string]any{}
	for name, v := range said {
		if _, in := workerParams[name]; in {
			known[name] = v
		} else if v != nil {
			fields[name] = v
		}
	}
	if known, err = workerParams.read(known); err != nil {
		return w, err
	}
	w = harvester.Worker{ID: known.integer("workerID"), Queue: known.text("computingSite"), Status: known.text("status"),
		JobType: known.text("jobType"), ResourceType: known.text("resourceType"), Fields: fields}
	switch q := known.text("queueName"); {
	case w.Queue == "":
		w.Queue = q
	case q != "":
		fields["queueName"] = q
	}
	for _, t := range []struct {
		name string
		to   **time.Time
	}{{"submitTime", &w.Submitted}, {"startTime", &w.Started}, {"endTime", &w.Ended}} {
		if *t.to, err = timeOf(known.text(t.name)); err != nil {
			return w, fmt.Errorf("Type error: '%s': %w", t.name, err)
		}
	}
	return w, nil
}

// serviceMetrics keeps figures of hosts: triples of a time, a host, and figures as JSON in a string.
func (s *server) serviceMetrics(r *http.Request, a args) envelope {
	all := make([]harvester.Metrics, len(a.list("metrics")))
	for i, item := range a.list("metrics") {
		var err error
		if all[i], err = metricsOf(item); err != nil {
			return bad("metrics[%d]: %s", i, err)
		}
	}
	return answer(s, r, "update_service_metrics", func(ctx context.Context) ([]bool, error) {
		return []bool{true}, s.Workers.AddMetrics(ctx, clean(a.text("harvester_id")), all)
	})
}

func metricsOf(item any) (m harvester.Metrics, err error) {
	three, ok := cleanAll(item).([]any)
	if !ok || len(three) != 3 {
		return m, errors.New("Type error: expected a list of a time, a host and figures")
	}
	said, _ := toText(three[0])
	at, err := timeOf(said)
	if err != nil || at == nil {
		return m, fmt.Errorf("Type error: the time must be like 2024-11-02 00:02:18, got %v", three[0])
	}
	if m.Host, ok = toText(three[1]); !ok {
		return m, fmt.Errorf("Type error: the host must be of type str, got %s.", kindOf(three[1]))
	}
	if m.Figures, ok = cleanAll(unwrap(three[2])).(map[string]any); !ok {
		return m, errors.New("Type error: the figures must be a dict as JSON")
	}
	m.At = *at
	return m, nil
}

var dialogParams = params{"diagID": integer | needed, "moduleName": text, "identifier": text, "creationTime": text, "messageLevel": text, "diagMessage": text}

// addDialogs keeps messages.
func (s *server) addDialogs(r *http.Request, a args) envelope {
	all := make([]harvester.Dialog, len(a.list("dialogs")))
	for i, item := range a.list("dialogs") {
		var err error
		if all[i], err = dialogOf(item); err != nil {
			return bad("dialogs[%d]: %s", i, err)
		}
	}
	return answer(s, r, "add_dialogs", func(ctx context.Context) (any, error) {
		return nil, s.Workers.AddDialogs(ctx, clean(a.text("harvester_id")), all)
	})
}

func dialogOf(item any) (d harvester.Dialog, err error) {
	said, ok := cleanAll(item).(map[string]any)
	if !ok {
		return d, errNotDict
	}
	a, err := dialogParams.read(args(said))
	if err != nil {
		return d, err
	}
	at, err := timeOf(a.text("creationTime"))
	if err != nil {
		return d, fmt.Errorf("Type error: 'creationTime': %w", err)
	}
	d = harvester.Dialog{ID: a.integer("diagID"), Module: a.text("moduleName"), Identifier: a.text("identifier"),
		Level: a.text("messageLevel"), Message: a.text("diagMessage"), At: time.Now()}
	if at != nil {
		d.At = *at
	}
	return d, nil
}
