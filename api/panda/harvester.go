package panda

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"

	"github.com/divvyhq/divvy/api/panda/call"
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
func (s *server) harvesterCalls() []call.Endpoint {
	if s.Workers == nil || s.Jobs == nil {
		return nil
	}
	id := call.Text | call.Needed
	return []call.Endpoint{
		call.ByPost("/harvester/heartbeat", call.Params{"harvester_id": id, "data": call.Anything}, s.heartbeat),
		call.ByPost("/harvester/update_workers", call.Params{"harvester_id": id, "workers": call.List | call.Needed}, s.updateWorkers),
		call.ByPost("/harvester/update_service_metrics", call.Params{"harvester_id": id, "metrics": call.List | call.Needed}, s.serviceMetrics),
		call.ByPost("/harvester/add_dialogs", call.Params{"harvester_id": id, "dialogs": call.List | call.Needed}, s.addDialogs),
		call.ByGet("/harvester/get_current_worker_id", call.Params{"harvester_id": id}, s.currentWorkerID),
		call.ByGet("/harvester/get_worker_statistics", call.Params{}, s.workerStatistics),
		call.ByPost("/harvester/report_worker_statistics", call.Params{"harvester_id": id, "panda_queue": id,
			"statistics": call.Anything | call.Needed}, s.reportWorkerStatistics),
		call.ByPost("/harvester/acquire_commands", call.Params{"harvester_id": id, "n_commands": call.Integer | call.Needed, "timeout": call.Number}, s.acquireCommands),
		call.ByPost("/harvester/acknowledge_commands", call.Params{"command_ids": call.Integers | call.Needed, "timeout": call.Number}, s.acknowledgeCommands),
		call.ByPost("/harvester/add_sweep_command", call.Params{"panda_queue": id, "status_list": call.List | call.Needed, "ce_list": call.List | call.Needed,
			"submission_host_list": call.List | call.Needed}, s.addSweepCommand),
		call.ByPost("/harvester/add_target_slots", call.Params{"panda_queue": id, "slots": call.Integer | call.Needed, "global_share": call.Text,
			"resource_type": call.Text, "expiration_date": call.Text, "mode": call.Text}, s.addTargetSlots),
	}
}

// answer runs a call of the packages below in time. What went wrong is logged, and the caller told that it did.
func answer[T any](s *server, r *http.Request, what string, do func(context.Context) (T, error)) call.Envelope {
	ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
	defer cancel()
	data, err := do(ctx)
	if errors.As(err, new(forbidden)) {
		return call.Bad("%s", err)
	}
	if err != nil {
		s.Log.Warn(what, "error", err)
		return call.Bad(databaseError)
	}
	return call.Good(data)
}

// heartbeat hears that a Harvester lives. Some say nothing of themselves with an empty list.
func (s *server) heartbeat(r *http.Request, a call.Args) call.Envelope {
	beat := harvester.Beat{Harvester: call.Clean(a.Text("harvester_id")), User: callerOf(r.Context()).Known()}
	beat.Host, _, _ = net.SplitHostPort(r.RemoteAddr)
	switch said := a["data"].(type) {
	case nil:
	case map[string]any:
		beat.Metadata = call.CleanAll(said).(map[string]any)
	default:
		if none, ok := said.([]any); !ok || len(none) > 0 {
			return call.Bad("Type error: 'data' must be of type dict, got %s.", call.KindOf(said))
		}
	}
	return answer(s, r, "heartbeat of a Harvester", func(ctx context.Context) (any, error) { return nil, s.Workers.Heartbeat(ctx, beat) })
}

// currentWorkerID tells the highest id of a Harvester's workers, for one that has lost its count.
func (s *server) currentWorkerID(r *http.Request, a call.Args) call.Envelope {
	return answer(s, r, "get_current_worker_id", func(ctx context.Context) (int64, error) {
		return s.Workers.LastID(ctx, call.Clean(a.Text("harvester_id")))
	})
}

// workerStatistics counts workers by queue, Harvester, job type, resource type and status.
func (s *server) workerStatistics(r *http.Request, _ call.Args) call.Envelope {
	return answer(s, r, "get_worker_statistics", func(ctx context.Context) (call.Tally, error) {
		all := call.Tally{}
		numbers, err := s.Workers.Numbers(ctx)
		for _, n := range numbers {
			all.Add(n.N, n.Queue, n.Harvester, n.JobType, n.ResourceType, n.Status)
		}
		return all, err
	})
}

// reportWorkerStatistics keeps a Harvester's own count at a queue: by job type, resource type and status.
func (s *server) reportWorkerStatistics(r *http.Request, a call.Args) call.Envelope {
	said, ok := call.Unwrap(a["statistics"]).(map[string]any)
	if !ok {
		return call.Bad("Type error: 'statistics' must be a dict as JSON.")
	}
	var numbers []harvester.Number
	for jobType, of := range said {
		byResource, ok := of.(map[string]any)
		if !ok {
			return call.Bad("Type error: 'statistics': %s must be of type dict, got %s.", jobType, call.KindOf(call.Numeral(of)))
		}
		for resource, of := range byResource {
			byStatus, ok := of.(map[string]any)
			if !ok {
				return call.Bad("Type error: 'statistics': %s %s must be of type dict, got %s.", jobType, resource, call.KindOf(call.Numeral(of)))
			}
			for status, n := range byStatus {
				count, ok := call.Coerce(call.Numeral(n), call.Integer)
				if !ok {
					return call.Bad("Type error: 'statistics': %s %s %s must be of type int, got %s.", jobType, resource, status, call.KindOf(call.Numeral(n)))
				}
				numbers = append(numbers, harvester.Number{JobType: call.Clean(jobType), ResourceType: call.Clean(resource), Status: call.Clean(status), N: count.(int64)})
			}
		}
	}
	e := answer(s, r, "report_worker_statistics", func(ctx context.Context) (any, error) {
		return nil, s.Workers.Report(ctx, call.Clean(a.Text("harvester_id")), call.Clean(a.Text("panda_queue")), numbers)
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
func (s *server) acquireCommands(r *http.Request, a call.Args) call.Envelope {
	n := a.Integer("n_commands")
	if n < 0 {
		return call.Bad("Argument error: 'n_commands' is %d, it must not be negative", n)
	}
	return answer(s, r, "acquire_commands", func(ctx context.Context) ([]command, error) {
		got, err := s.Workers.Acquire(ctx, call.Clean(a.Text("harvester_id")), int(min(n, mostCommands)))
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
func (s *server) acknowledgeCommands(r *http.Request, a call.Args) call.Envelope {
	return answer(s, r, "acknowledge_commands", func(ctx context.Context) (any, error) {
		_, err := s.Workers.Acknowledge(ctx, a.Integers("command_ids"))
		return nil, err
	})
}

// addSweepCommand has the Harvesters of a queue end workers there; ALL selects all statuses, elements or hosts.
func (s *server) addSweepCommand(r *http.Request, a call.Args) call.Envelope {
	w := harvester.Sweep{Queues: []string{call.Clean(a.Text("panda_queue"))}}
	for name, to := range map[string]*harvester.Selection{"status_list": &w.Statuses, "ce_list": &w.Elements, "submission_host_list": &w.Hosts} {
		for _, v := range a.List(name) {
			word, ok := call.ToText(v)
			if !ok {
				return call.Bad("Type error: All elements in '%s' must be str.", name)
			}
			*to = append(*to, call.Clean(word))
		}
	}
	n := 0
	e := answer(s, r, "add_sweep_command", func(ctx context.Context) (_ any, err error) {
		n, err = s.Workers.Sweep(ctx, w)
		return nil, err
	})
	if e.Success && n == 0 {
		return call.Bad("no Harvester has workers at %s", w.Queues[0])
	}
	return e
}
