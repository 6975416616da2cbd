package harvesters

import (
	"context"
	"encoding/json"
	"net"
	"net/http"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/harvester"
)

// Workers stores the reports of Harvesters; *harvester.Store is one.
type Workers interface {
	Heartbeat(context.Context, harvester.Beat) error
	Update(ctx context.Context, harvester string, workers []harvester.Worker) error
	// PilotStatus records the report of a worker's pilot; known is false if no Harvester reported such a worker.
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

// Jobs knows how queues and shares stand; *dispatcher.Dispatcher is one.
type Jobs interface {
	Queues() []dispatcher.QueueStanding
	Standing() dispatcher.Standing
	SetTargetSlots(context.Context, dispatcher.TargetSlots) error
}

var _ Jobs = (*dispatcher.Dispatcher)(nil)

// Calls serves Harvesters and the programs that steer them. Without Workers or Jobs there are no calls.
type Calls struct {
	wire.Below
	Workers Workers
	Jobs    Jobs
}

// Endpoints are the calls by their paths.
func (s Calls) Endpoints() []wire.Endpoint {
	if s.Workers == nil || s.Jobs == nil {
		return nil
	}
	id := wire.Text | wire.Needed
	return []wire.Endpoint{
		wire.ByPost("/harvester/heartbeat", wire.Params{"harvester_id": id, "data": wire.Anything}, s.heartbeat),
		wire.ByPost("/harvester/update_workers", wire.Params{"harvester_id": id, "workers": wire.List | wire.Needed}, s.updateWorkers),
		wire.ByPost("/harvester/update_service_metrics", wire.Params{"harvester_id": id, "metrics": wire.List | wire.Needed}, s.serviceMetrics),
		wire.ByPost("/harvester/add_dialogs", wire.Params{"harvester_id": id, "dialogs": wire.List | wire.Needed}, s.addDialogs),
		wire.ByGet("/harvester/get_current_worker_id", wire.Params{"harvester_id": id}, s.currentWorkerID),
		wire.ByGet("/harvester/get_worker_statistics", wire.Params{}, s.workerStatistics),
		wire.ByPost("/harvester/report_worker_statistics", wire.Params{"harvester_id": id, "panda_queue": id,
			"statistics": wire.Anything | wire.Needed}, s.reportWorkerStatistics),
		wire.ByPost("/harvester/acquire_commands", wire.Params{"harvester_id": id, "n_commands": wire.Integer | wire.Needed, "timeout": wire.Number}, s.acquireCommands),
		wire.ByPost("/harvester/acknowledge_commands", wire.Params{"command_ids": wire.Integers | wire.Needed, "timeout": wire.Number}, s.acknowledgeCommands),
		wire.ByPost("/harvester/add_sweep_command", wire.Params{"panda_queue": id, "status_list": wire.List | wire.Needed, "ce_list": wire.List | wire.Needed,
			"submission_host_list": wire.List | wire.Needed}, s.addSweepCommand),
		wire.ByPost("/harvester/add_target_slots", wire.Params{"panda_queue": id, "slots": wire.Integer | wire.Needed, "global_share": wire.Text,
			"resource_type": wire.Text, "expiration_date": wire.Text, "mode": wire.Text}, s.addTargetSlots),
	}
}

// heartbeat records that a Harvester lives. Some Harvesters send an empty list in place of metadata.
func (s Calls) heartbeat(r *http.Request, a wire.Args) wire.Envelope {
	beat := harvester.Beat{Harvester: wire.Clean(a.Text("harvester_id")), User: wire.CallerOf(r.Context()).Known()}
	beat.Host, _, _ = net.SplitHostPort(r.RemoteAddr)
	switch said := a["data"].(type) {
	case nil:
	case map[string]any:
		beat.Metadata = wire.CleanAll(said).(map[string]any)
	default:
		if none, ok := said.([]any); !ok || len(none) > 0 {
			return wire.Bad("Type error: 'data' must be of type dict, got %s.", wire.KindOf(said))
		}
	}
	return wire.Answer(s.Below, r, "heartbeat of a Harvester", func(ctx context.Context) (any, error) { return nil, s.Workers.Heartbeat(ctx, beat) })
}

// currentWorkerID returns the highest id of a Harvester's workers, for a Harvester that has lost its count.
func (s Calls) currentWorkerID(r *http.Request, a wire.Args) wire.Envelope {
	return wire.Answer(s.Below, r, "get_current_worker_id", func(ctx context.Context) (int64, error) {
		return s.Workers.LastID(ctx, wire.Clean(a.Text("harvester_id")))
	})
}

// workerStatistics counts workers by queue, Harvester, job type, resource type and status.
func (s Calls) workerStatistics(r *http.Request, _ wire.Args) wire.Envelope {
	return wire.Answer(s.Below, r, "get_worker_statistics", func(ctx context.Context) (wire.Tally, error) {
		all := wire.Tally{}
		numbers, err := s.Workers.Numbers(ctx)
		for _, n := range numbers {
			all.Add(n.N, n.Queue, n.Harvester, n.JobType, n.ResourceType, n.Status)
		}
		return all, err
	})
}

// reportWorkerStatistics keeps a Harvester's own count at a queue: by job type, resource type and status.
func (s Calls) reportWorkerStatistics(r *http.Request, a wire.Args) wire.Envelope {
	said, ok := wire.Unwrap(a["statistics"]).(map[string]any)
	if !ok {
		return wire.Bad("Type error: 'statistics' must be a dict as JSON.")
	}
	var numbers []harvester.Number
	for jobType, of := range said {
		byResource, ok := of.(map[string]any)
		if !ok {
			return wire.Bad("Type error: 'statistics': %s must be of type dict, got %s.", jobType, wire.KindOf(wire.Numeral(of)))
		}
		for resource, of := range byResource {
			byStatus, ok := of.(map[string]any)
			if !ok {
				return wire.Bad("Type error: 'statistics': %s %s must be of type dict, got %s.", jobType, resource, wire.KindOf(wire.Numeral(of)))
			}
			for status, n := range byStatus {
				count, ok := wire.Coerce(wire.Numeral(n), wire.Integer)
				if !ok {
					return wire.Bad("Type error: 'statistics': %s %s %s must be of type int, got %s.", jobType, resource, status, wire.KindOf(wire.Numeral(n)))
				}
				numbers = append(numbers, harvester.Number{JobType: wire.Clean(jobType), ResourceType: wire.Clean(resource), Status: wire.Clean(status), N: count.(int64)})
			}
		}
	}
	e := wire.Answer(s.Below, r, "report_worker_statistics", func(ctx context.Context) (any, error) {
		return nil, s.Workers.Report(ctx, wire.Clean(a.Text("harvester_id")), wire.Clean(a.Text("panda_queue")), numbers)
	})
	if e.Success {
		e.Message = "OK"
	}
	return e
}

// command is an order to a Harvester.
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
func (s Calls) acquireCommands(r *http.Request, a wire.Args) wire.Envelope {
	n := a.Integer("n_commands")
	if n < 0 {
		return wire.Bad("Argument error: 'n_commands' is %d, it must not be negative", n)
	}
	return wire.Answer(s.Below, r, "acquire_commands", func(ctx context.Context) ([]command, error) {
		got, err := s.Workers.Acquire(ctx, wire.Clean(a.Text("harvester_id")), int(min(n, mostCommands)))
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

// acknowledgeCommands records that commands were done. Unknown commands were done long ago.
func (s Calls) acknowledgeCommands(r *http.Request, a wire.Args) wire.Envelope {
	return wire.Answer(s.Below, r, "acknowledge_commands", func(ctx context.Context) (any, error) {
		_, err := s.Workers.Acknowledge(ctx, a.Integers("command_ids"))
		return nil, err
	})
}

// addSweepCommand has the Harvesters of a queue end workers there; ALL selects all statuses, elements or hosts.
func (s Calls) addSweepCommand(r *http.Request, a wire.Args) wire.Envelope {
	w := harvester.Sweep{Queues: []string{wire.Clean(a.Text("panda_queue"))}}
	for name, to := range map[string]*harvester.Selection{"status_list": &w.Statuses, "ce_list": &w.Elements, "submission_host_list": &w.Hosts} {
		for _, v := range a.List(name) {
			word, ok := wire.ToText(v)
			if !ok {
				return wire.Bad("Type error: All elements in '%s' must be str.", name)
			}
			*to = append(*to, wire.Clean(word))
		}
	}
	n := 0
	e := wire.Answer(s.Below, r, "add_sweep_command", func(ctx context.Context) (_ any, err error) {
		n, err = s.Workers.Sweep(ctx, w)
		return nil, err
	})
	if e.Success && n == 0 {
		return wire.Bad("no Harvester has workers at %s", w.Queues[0])
	}
	return e
}
