package panda

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/api/panda/wire"
)

// oldCall is a call that Harvesters up to 2025, and scripts of that time, make with a form: a call of the new API
// under other names, with an answer in another form. Its lists and objects come as JSON in a string.
type oldCall struct {
	as    string            // the call, below /api/v1
	names map[string]string // arguments, old → new; others are ignored
	form  func(wire.Envelope) any
}

// own is the name of the Harvester that calls.
func own(names ...string) map[string]string {
	m := map[string]string{"harvesterID": "harvester_id"}
	for i := 0; i+1 < len(names); i += 2 {
		m[names[i]] = names[i+1]
	}
	return m
}

var oldCalls = map[string]oldCall{
	"harvesterIsAlive":          {"/harvester/heartbeat", own("data", "data"), pairOr("succeeded")},
	"updateWorkers":             {"/harvester/update_workers", own("workers", "workers"), pairOr(nil)},
	"updateServiceMetrics":      {"/harvester/update_service_metrics", own("metrics", "metrics"), pairOr(nil)},
	"addHarvesterDialogs":       {"/harvester/add_dialogs", own("dialogs", "dialogs"), pairOr("")},
	"reportWorkerStats_jobtype": {"/harvester/report_worker_statistics", own("siteName", "panda_queue", "paramsList", "statistics"), pairOr("OK")},
	"getWorkerStats":            {"/harvester/get_worker_statistics", nil, bare},
	"get_max_worker_id":         {"/harvester/get_current_worker_id", map[string]string{"harvester_id": "harvester_id"}, bare},
	"getCommands":               {"/harvester/acquire_commands", map[string]string{"harvester_id": "harvester_id", "n_commands": "n_commands"}, flatAs("Commands")},
	"ackCommands":               {"/harvester/acknowledge_commands", map[string]string{"command_ids": "command_ids"}, flatAs("")},
	"checkJobStatus":            {"/job/get_status", map[string]string{"ids": "job_ids"}, flatAs("data")},
	"sweepPQ": {"/harvester/add_sweep_command", map[string]string{"panda_queue": "panda_queue", "status_list": "status_list", "ce_list": "ce_list",
		"submission_host_list": "submission_host_list"}, pairOr("OK")},
	"setNumSlotsForWP": {"/harvester/add_target_slots", map[string]string{"pandaQueueName": "panda_queue", "numSlots": "slots", "gshare": "global_share",
		"resourceType": "resource_type", "validPeriod": "expiration_date", "mode": "mode"}, coded},
	"getJobStatisticsPerSite":                    {"/statistics/active_job_stats_by_site", nil, pickled},
	"getJobStatisticsPerSiteResource":            {"/statistics/job_stats_by_site_and_resource_type", map[string]string{"timeWindow": "time_window"}, bare},
	"get_job_statistics_per_site_label_resource": {"/statistics/job_stats_by_site_share_and_resource_type", map[string]string{"time_window": "time_window"}, bare},
}

// oldHarvesterRoutes serves these calls. A call that the new API does not serve has no old form either.
func (s *server) oldHarvesterRoutes(r chi.Router) {
	byPath := map[string]wire.Endpoint{}
	for _, e := range s.calls() {
		byPath[e.Path] = e
	}
	for name, c := range oldCalls {
		if e, there := byPath[c.as]; there {
			s.oldRoute(r, name, func(r *http.Request, a wire.Args) any { return c.form(e.Called(r, c.renamed(a))) })
		}
	}
	s.oldRoute(r, "updateJobsInBulk", s.pilots.updateJobsInBulk)
}

// oldRoute serves a call whose answer is not always an object, with status 200 whatever it says.
func (s *server) oldRoute(r chi.Router, name string, serve func(*http.Request, wire.Args) any) {
	r.HandleFunc("/server/panda/"+name, func(w http.ResponseWriter, r *http.Request) {
		a, err := wire.Decode(w, r)
		var answer any
		if err != nil {
			answer = wire.Declined(wire.ScFailed, err.Error())
		} else {
			answer = serve(r, a)
		}
		if b, raw := answer.(wire.Pickle); raw {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write(b) // the client may have gone
			return
		}
		wire.WriteJSON(w, http.StatusOK, answer)
	})
}

// renamed returns the call's arguments under their new names.
func (c oldCall) renamed(a wire.Args) wire.Args {
	out, left := wire.Args{}, wire.MaxValues
	for old, name := range c.names {
		v, there := a[old]
		switch {
		case !there:
		case old == "ids":
			out[name] = wire.Words(v)
		default:
			out[name] = wire.PackedIn(v, &left)
		}
	}
	return out
}

// pairOr answers whether it went well, with what came out or the reason: said where nothing comes out.
func pairOr(said any) func(wire.Envelope) any {
	return func(e wire.Envelope) any {
		switch {
		case !e.Success:
			return []any{false, e.Message}
		case said != nil:
			return []any{true, said}
		}
		return []any{true, e.Data}
	}
}

// bare answers with the result alone.
func bare(e wire.Envelope) any { return e.Data }

// pickled is bare for callers that read Python's pickle.
func pickled(e wire.Envelope) any {
	t, _ := e.Data.(wire.Tally)
	return wire.PickleOf(t)
}

// flatAs answers as pilots' calls are, with what came out under a name.
func flatAs(name string) func(wire.Envelope) any {
	return func(e wire.Envelope) any {
		switch {
		case e.Message == wire.DatabaseError:
			return wire.Declined(wire.ScTimeOut, e.Message)
		case !e.Success:
			return wire.Declined(wire.ScFailed, e.Message)
		case name == "":
			return map[string]any{"StatusCode": wire.ScSuccess, "Returns": 0}
		}
		return map[string]any{"StatusCode": wire.ScSuccess, "Returns": 0, name: e.Data}
	}
}

// coded answers 0 or another number, and a text.
func coded(e wire.Envelope) any {
	if e.Success {
		return []any{0, e.Message}
	}
	return []any{1, e.Message}
}
