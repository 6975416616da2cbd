package panda

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"

	"github.com/divvyhq/divvy/internal/harvester"
)

// Workers keeps what Harvesters say; *harvester.Store is one.
type Workers interface {
	Heartbeat(context.Context, harvester.Beat) error
	Update(ctx context.Context, harvester string, workers []harvester.Worker) error
	// PilotStatus notes what a worker's pilot said; known is false when no such worker was told of.
	PilotStatus(context.Context, harvester.Said) (known bool, err error)
	LastID(ctx context.Context, harvester string) (int64, error)
	Report(ctx context.Context, harvester, queue string, numbers []harvester.Number) error
	Numbers(context.Context) ([]harvester.Number, error)
	Acquire(ctx context.Context, harvester string, n int) ([]harvester.Command, error)
	Acknowledge(ctx context.Context, ids []int64) (n int, err error)
	Sweep(context.Context, harvester.Sweep) (n int, err error)
	AddDialogs(ctx context.Context, harvester string, dialogs []harvester.Dialog) error
	AddMetrics(ctx context.Context, harvester string, all []harvester.Metrics) error
}

var _ Workers = (*harvester.Store)(nil)

// databaseError is what callers know for it.
const databaseError = "database error in the PanDA server"

// harvesterCalls are those of Harvesters, and of who steers them.
func (s *server) harvesterCalls() []endpoint {
	if s.Workers == nil || s.Jobs == nil {
		return nil
	}
	id := text | needed
	return []endpoint{
		byPost("/harvester/heartbeat", params{"harvester_id": id, "data": anything}, s.heartbeat),
		byPost("/harvester/update_workers", params{"harvester_id": id, "workers": list | needed}, s.updateWorkers),
		byPost("/harvester/update_service_metrics", params{"harvester_id": id, "metrics": list | needed}, s.serviceMetrics),
		byPost("/harvester/add_dialogs", params{"harvester_id": id, "dialogs": list | needed}, s.addDialogs),
		byGet("/harvester/get_current_worker_id", params{"harvester_id": id}, s.currentWorkerID),
		byGet("/harvester/get_worker_statistics", params{}, s.workerStatistics),
		byPost("/harvester/report_worker_statistics", params{"harvester_id": id, "panda_queue": id,
			"statistics": anything | needed}, s.reportWorkerStatistics),
		byPost("/harvester/acquire_commands", params{"harvester_id": id, "n_commands": integer | needed, "timeout": number}, s.acquireCommands),
		byPost("/harvester/acknowledge_commands", params{"command_ids": integers | needed, "timeout": number}, s.acknowledgeCommands),
		byPost("/harvester/add_sweep_command", params{"panda_queue": id, "status_list": list | needed, "ce_list": list | needed,
			"submission_host_list": list | needed}, s.addSweepCommand),
		byPost("/harvester/add_target_slots", params{"panda_queue": id, "slots": integer | needed, "global_share": text,
			"resource_type": text, "expiration_date": text, "mode": text}, s.addTargetSlots),
	}
}

// answer runs a call of the packages below in time. What went wrong is logged, and the caller told that it did.
func answer[T any](s *server, r *http.Request, what string, do func(context.Context) (T, error)) envelope {
	ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
	defer cancel()
	data, err := do(ctx)
	if errors.As(err, new(forbidden)) {
		return bad("%s", err)
	}
	if err != nil {
		s.Log.Warn(what, "error", err)
		return bad(databaseError)
	}
	return good(data)
}

// heartbeat hears that a Harvester lives. Some say nothing of themselves with an empty list.
func (s *server) heartbeat(r *http.Request, a args) envelope {
	beat := harvester.Beat{Harvester: clean(a.text("harvester_id")), User: callerOf(r.Context()).Known()}
	beat.Host, _, _ = net.SplitHostPort(r.RemoteAddr)
	switch said := a["data"].(type) {
	case nil:
	case map[string]any:
		beat.Metadata = cleanAll(said).(map[string]any)
	default:
		if none, ok := said.([]any); !ok || len(none) > 0 {
			return bad("Type error: 'data' must be of type dict, got %s.", kindOf(said))
		}
	}
	return answer(s, r, "heartbeat of a Harvester", func(ctx context.Context) (any, error) { return nil, s.Workers.Heartbeat(ctx, beat) })
}

// currentWorkerID tells the highest id of a Harvester's workers, for one that has lost its count.
func (s *server) currentWorkerID(r *http.Request, a args) envelope {
	return answer(s, r, "get_current_worker_id", func(ctx context.Context) (int64, error) {
		return s.Workers.LastID(ctx, clean(a.text("harvester_id")))
	})
}

// workerStatistics counts workers by queue, Harvester, job type, resource type and status.
func (s *server) workerStatistics(r *http.Request, _ args) envelope {
	return answer(s, r, "get_worker_statistics", func(ctx context.Context) (tally, error) {
		all := tally{}
		numbers, err := s.Workers.Numbers(ctx)
		for _, n := range numbers {
			all.add(n.N, n.Queue, n.Harvester, n.JobType, n.ResourceType, n.Status)
		}
		return all, err
	})
}

// reportWorkerStatistics keeps a Harvester's own count at a queue: by job type, resource type and status.
func (s *server) reportWorkerStatistics(r *http.Request, a args) envelope {
	said, ok := unwrap(a["statistics"]).(map[string]any)
	if !ok {
		return bad("Type error: 'statistics' must be a dict as JSON.")
	}
	var numbers []harvester.Number
	for jobType, of := range said {
		byResource, ok := of.(map[string]any)
		if !ok {
			return bad("Type error: 'statistics': %s must be of type dict, got %s.", jobType, kindOf(numeral(of)))
		}
		for resource, of := range byResource {
			byStatus, ok := of.(map[string]any)
			if !ok {
				return bad("Type error: 'statistics': %s %s must be of type dict, got %s.", jobType, resource, kindOf(numeral(of)))
			}
			for status, n := range byStatus {
				count, ok := coerce(numeral(n), integer)
				if !ok {
					return bad("Type error: 'statistics': %s %s %s must be of type int, got %s.", jobType, resource, status, kindOf(numeral(n)))
				}
				numbers = append(numbers, harvester.Number{JobType: clean(jobType), ResourceType: clean(resource), Status: clean(status), N: count.(int64)})
			}
		}
	}
	e := answer(s, r, "report_worker_statistics", func(ctx context.Context) (any, error) {
		return nil, s.Workers.Report(ctx, clean(a.text("harvester_id")), clean(a.text("panda_queue")), numbers)
	})
	if e.Success {
		e.Message = "OK"
	}
	return e
}

// command is what a Harvester is told to do.
type command struct {
	ID        int64           `json:"command_id"`
	Command   string          `json:"command"`
	Params    json.RawMessage `json:"params"`
	Ack       int             `json:"ack_requested"` // 1: it is to be acknowledged
	CreatedAt string          `json:"creation_date"`
}

// mostCommands bounds one answer.
const mostCommands = 1000

// acquireCommands hands out the commands that wait, each once.
func (s *server) acquireCommands(r *http.Request, a args) envelope {
	n := a.integer("n_commands")
	if n < 0 {
		return bad("Argument error: 'n_commands' is %d, it must not be negative", n)
	}
	return answer(s, r, "acquire_commands", func(ctx context.Context) ([]command, error) {
		got, err := s.Workers.Acquire(ctx, clean(a.text("harvester_id")), int(min(n, mostCommands)))
		all := make([]command, len(got))
		for i, c := range got {
			all[i] = command{ID: c.ID, Command: c.Command, Params: c.Params, CreatedAt: c.CreatedAt.UTC().Format("2006-01-02T15:04:05")}
			if c.AckRequested {
				all[i].Ack = 1
			}
		}
		return all, err
	})
}

// acknowledgeCommands hears that commands were done. Those that are not known were done long ago.
func (s *server) acknowledgeCommands(r *http.Request, a args) envelope {
	return answer(s, r, "acknowledge_commands", func(ctx context.Context) (any, error) {
		_, err := s.Workers.Acknowledge(ctx, a.integers("command_ids"))
		return nil, err
	})
}

// addSweepCommand has the Harvesters of a queue end workers there; ALL selects all statuses, elements or hosts.
func (s *server) addSweepCommand(r *http.Request, a args) envelope {
	w := harvester.Sweep{Queues: []string{clean(a.text("panda_queue"))}}
	for name, to := range map[string]*harvester.Selection{"status_list": &w.Statuses, "ce_list": &w.Elements, "submission_host_list": &w.Hosts} {
		for _, v := range a.list(name) {
			word, ok := toText(v)
			if !ok {
				return bad("Type error: All elements in '%s' must be str.", name)
			}
			*to = append(*to, clean(word))
		}
	}
	n := 0
	e := answer(s, r, "add_sweep_command", func(ctx context.Context) (_ any, err error) {
		n, err = s.Workers.Sweep(ctx, w)
		return nil, err
	})
	if e.Success && n == 0 {
		return bad("no Harvester has workers at %s", w.Queues[0])
	}
	return e
}
