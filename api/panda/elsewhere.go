package panda

import (
	"net/http"
	"strings"

	"github.com/divvyhq/divvy/api/panda/wire"
)

// elsewhere lists the groups of PanDA's calls that divvy does not serve, and what to use instead.
var elsewhere = map[string]string{
	"async_process":         "nothing is done behind an answer: each call answers with what it did",
	"creds":                 noSecrets,
	"credential_management": noSecrets,
	"secret_management":     noSecrets,
	"data_carousel":         noStaging,
	"event":                 noEvents,
	"file_server":           "only upload_cache_file and validate_cache_file are: payloads fetch and store their own files, and panda_transforms is a folder of payload scripts",
	"idds":                  noWorkflows,
	"workflow":              noWorkflows,
	"metaconfig":            "the site file has the queues: divvy queue list",
}

const (
	noSecrets   = "no credentials are kept or handed out: payloads use those of their pilots"
	noWorkflows = "tasks wait for each other in the native API: needs"
)

// notHere answers every call of PanDA's API without a route, in the form that PanDA's programs read: calls of groups
// that are not served, and calls that PanDA got later.
func notHere(w http.ResponseWriter, r *http.Request) {
	_, call, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/"), "/")
	group, _, _ := strings.Cut(call, "/")
	why, known := elsewhere[group]
	if !known {
		why = "no such call is known; docs/from-panda.md lists those that are"
	}
	wire.Bad("%s is not served here: %s", call, why).Write(w)
}

// elsewhereOld lists such calls of the old API, which has no groups: pchain's, and those about secrets.
var elsewhereOld = map[string]string{
	"put_workflow_request": noWorkflows, "relay_idds_command": noWorkflows, "execute_idds_workflow_command": noWorkflows,
	"set_user_secret": noSecrets, "get_user_secrets": noSecrets,
}

// notThere is notHere for the old API.
func notThere(w http.ResponseWriter, r *http.Request) {
	call := strings.TrimPrefix(r.URL.Path, "/server/panda/")
	why := "docs/from-panda.md lists the calls that are"
	if instead := elsewhereOld[call]; instead != "" {
		why = instead
	}
	wire.WriteJSON(w, http.StatusOK, wire.Declined(wire.ScFailed, call+" is not served here; "+why))
}
