package panda

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/divvyhq/divvy/api/panda/wire"
)

// resourceType is a class of jobs, told apart as generator.Spec does; null = no bound. Memory is in MB a core.
type resourceType struct {
	Name      string `json:"resource_name"`
	MinCores  int    `json:"mincore"`
	MaxCores  *int   `json:"maxcore"`
	MinMemory *int   `json:"minrampercore"`
	MaxMemory *int   `json:"maxrampercore"`
}

// resourceTypes are all classes.
func resourceTypes() []resourceType {
	one, most, more := 1, 2000, 2001
	return []resourceType{
		{"SCORE", 1, &one, nil, &most}, {"SCORE_HIMEM", 1, &one, &more, nil},
		{"MCORE", 2, nil, nil, &most}, {"MCORE_HIMEM", 2, nil, &more, nil},
	}
}

// getResourceTypes is how pilots of the new API ask for them.
func (s *pilots) getResourceTypes(*http.Request, wire.Args) wire.Envelope {
	return wire.Good(resourceTypes())
}

// oldResourceTypes is how all others do. Pilots read a list there as none: they know it as text only.
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

// byPilot says whether a pilot asks, not a script or a Harvester.
func byPilot(r *http.Request) bool { return strings.HasPrefix(r.UserAgent(), "pilot/") }

// setDebugMode is what pilots of some queues ask for before they begin a job. It means nothing here; a refusal would be
// repeated two minutes later, and the job's first lease is over by then.
func (s *pilots) setDebugMode(*http.Request, wire.Args) wire.Envelope {
	return wire.Envelope{Success: true, Message: "there is no debug mode here: what a heartbeat says of a payload's output is kept at any time"}
}
