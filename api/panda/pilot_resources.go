package panda

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/divvyhq/divvy/api/panda/wire"
)

// resourceType is a class of jobs, with the bounds that generator.Spec uses; null = no bound. Memory is in MB a core.
type resourceType struct {
	Name      string `json:"resource_name"`
	MinCores  int    `json:"mincore"`
	MaxCores  *int   `json:"maxcore"`
	MinMemory *int   `json:"minrampercore"`
	MaxMemory *int   `json:"maxrampercore"`
}

// resourceTypes lists all classes.
func resourceTypes() []resourceType {
	one, most, more := 1, 2000, 2001
	return []resourceType{
		{"SCORE", 1, &one, nil, &most}, {"SCORE_HIMEM", 1, &one, &more, nil},
		{"MCORE", 2, nil, nil, &most}, {"MCORE_HIMEM", 2, nil, &more, nil},
	}
}

// getResourceTypes answers pilots of the new API.
func (s *pilots) getResourceTypes(*http.Request, wire.Args) wire.Envelope {
	return wire.Good(resourceTypes())
}

// oldResourceTypes answers all others. Pilots accept the list as text only.
func (s *pilots) oldResourceTypes(r *http.Request, _ wire.Args) (int, any) {
	var list any = resourceTypes()
	if byPilot(r) {
		text, err := json.Marshal(list)
		if err != nil {
			return http.StatusInternalServerError, wire.Declined(wire.ScFailed, err.Error())
		}
		list = string(text)
	}
	return http.StatusOK, map[string]any{"StatusCode": wire.ScSuccess, "ResourceTypes": list}
}

// byPilot reports whether a pilot asks, not a script or a Harvester.
func byPilot(r *http.Request) bool { return strings.HasPrefix(r.UserAgent(), "pilot/") }

// setDebugMode accepts and ignores a call that pilots of some queues make before a job. They repeat a refused call
// two minutes later, when the job's first lease is over.
func (s *pilots) setDebugMode(*http.Request, wire.Args) wire.Envelope {
	return wire.Envelope{Success: true, Message: "there is no debug mode here: what a heartbeat says of a payload's output is kept at any time"}
}
