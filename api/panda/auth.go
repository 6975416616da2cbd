package panda

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/api/origin"
	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/keys"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/internal/site/file"
)

// Gate knows which pilots may pull at a queue; *site.Store is one.
type Gate interface {
	Admits(queue string, p file.Pilot) bool
}

var _ Gate = (*site.Store)(nil)

// mayPull returns nil if the caller may pull at a queue, else the refusal in the words of the answer.
func (s Config) mayPull(ctx context.Context, queue string) error {
	c := wire.CallerOf(ctx)
	p := file.Pilot{Origin: c.Origin}
	switch {
	case !c.MayPull(queue):
		return wire.Forbid(fmt.Errorf("queue %s is not one at which %s may pull", queue, c))
	case c.Anonymous():
	case c.Is(access.Operator, access.Admin):
		return nil
	case c.Vouched:
		p.User = c.Known()
	default:
		p.Token = c.Name
	}
	if s.Gate == nil || s.Gate.Admits(queue, p) {
		return nil
	}
	return wire.Forbid(fmt.Errorf("queue %s is not for %s: the site file lists its pilots", queue, pilotName(p)))
}

// pilotName describes a pilot in a refusal.
func pilotName(p file.Pilot) string {
	known := slices.DeleteFunc([]string{"user " + p.User, "token " + p.Token, "origin " + p.Origin}, func(s string) bool { return strings.HasSuffix(s, " ") })
	if len(known) == 0 {
		return "a pilot without a credential"
	}
	return strings.Join(known, ", ")
}

// guard admits callers with a good credential and the role for the call, and tells the handler who they are. It
// answers all others in the form of the path's generation.
func (s Config) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := s.admit(r)
		if err != nil && !(errors.Is(err, errNoCredential) && asksAlive(r)) {
			refuse(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(access.With(r.Context(), c)))
	})
}

// asksAlive reports whether the call asks if the server is alive. Monitors ask without a credential, as PanDA's own
// server allows.
func asksAlive(r *http.Request) bool {
	_, call, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/"), "/")
	return r.Method == http.MethodGet && call == "system/is_alive"
}

// Refusals with a fixed text.
var (
	errPage         = errors.New("refused: the request may come from a foreign web page")
	errNoCredential = errors.New("no credential: send the header Authorization: Bearer <token>, or a client certificate")
	errUnknownToken = errors.New("the token is not known here")
)

// admit identifies the caller and checks its role for the call.
func (s Config) admit(r *http.Request) (*access.Caller, error) {
	if origin.Page(r) || s.Callers.Open && origin.Rebound(r) {
		return nil, errPage
	}
	shown := access.ShownBy(r)
	shown.As = access.As{Panda: true, Origin: originOf(r)}
	c, err := s.Callers.Caller(r.Context(), shown)
	switch scheme, token, _ := strings.Cut(shown.Authorization, " "); {
	case c != nil:
		return c, mayCall(c, r)
	case err != nil:
		return nil, err
	case strings.EqualFold(scheme, "Bearer") && strings.TrimSpace(token) != "":
		return nil, errUnknownToken
	}
	return nil, errNoCredential
}

// originOf returns the header Origin as PanDA writes it, vo[.role]; vo:role is an older form.
func originOf(r *http.Request) string {
	return strings.Replace(strings.TrimSpace(r.Header.Get("Origin")), ":", ".", 1)
}

// The roles that calls need, as the native API has them. Operators may do what pilots do: Harvesters often have but one credential.
var (
	pilotRoles = []access.Role{access.Pilot, access.Operator, access.Admin}
	steerRoles = []access.Role{access.Submitter, access.Operator, access.Admin}
	lookRoles  = []access.Role{access.Submitter, access.Reader, access.ShareOwner, access.Operator, access.Admin}
)

// mayCall refuses a caller without the role for a call: to take jobs and report on them, to steer, or to look into
// tasks. Every admitted caller may ask for the state of jobs and queues.
func mayCall(c *access.Caller, r *http.Request) error {
	var roles []access.Role
	var what string
	switch {
	case reports(r):
		roles, what = pilotRoles, "to take jobs and report on them"
	case steers(r):
		roles, what = steerRoles, "to steer"
	case looksInto(r):
		roles, what = lookRoles, "to look into tasks"
	default:
		return nil
	}
	if c.Is(roles...) {
		return nil
	}
	names := make([]string, len(roles))
	for i, role := range roles {
		names[i] = string(role)
	}
	return wire.Forbid(fmt.Errorf("%s needs the role %s; this is %s", what, strings.Join(names, " or "), c))
}

// looksInto reports whether a request asks for the contents of tasks and jobs: commands, parameters, files, reports
// of payloads. A pilot gets these with its own jobs; of other jobs it may ask for the state, as Harvesters do.
func looksInto(r *http.Request) bool {
	call, old := strings.CutPrefix(r.URL.Path, "/server/panda/")
	if old {
		call = strings.TrimPrefix(oldTaskCalls[call].as, "/")
	} else {
		_, call, _ = strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/"), "/")
	}
	return strings.HasPrefix(call, "task/") || strings.HasPrefix(call, "job/") && call != "job/get_status"
}

// reports reports whether pilots and Harvesters use the request to take jobs or to report.
func reports(r *http.Request) bool {
	if call, old := strings.CutPrefix(r.URL.Path, "/server/panda/"); old {
		return saidOld[call]
	}
	_, call, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/"), "/")
	group, name, _ := strings.Cut(call, "/")
	return r.Method != http.MethodGet && (group == "pilot" || group == "harvester" && name != "add_target_slots" && name != "add_sweep_command")
}

// steers reports whether a request changes tasks, jobs or target slots. Every request that is no known report and no
// question steers.
func steers(r *http.Request) bool {
	if call, old := strings.CutPrefix(r.URL.Path, "/server/panda/"); old {
		return call != "isAlive" && !strings.HasPrefix(call, "get") && !strings.HasPrefix(call, "check")
	}
	return r.Method != http.MethodGet
}

// saidOld lists the old calls by which pilots and Harvesters take jobs or report.
var saidOld = map[string]bool{"getJob": true, "getCommands": true, "updateJob": true, "updateJobsInBulk": true, "updateWorkerPilotStatus": true,
	"harvesterIsAlive": true, "updateWorkers": true, "updateServiceMetrics": true, "addHarvesterDialogs": true, "reportWorkerStats_jobtype": true, "ackCommands": true}

// scRole is the old API's status code for a caller without the right.
const scRole = 60

// refuse answers a refusal. The new API has status 403 for bad credentials, and 200 for a good one without the right;
// the old API always has 200, with a status code in the answer. Web pages get 403 from both. If the issuer of a token
// does not answer, both say 503.
func refuse(w http.ResponseWriter, r *http.Request, why error) {
	status, right, unchecked := http.StatusForbidden, wire.Forbidden{}, keys.Unchecked{}
	switch {
	case errors.As(why, &right):
		status = http.StatusOK
	case errors.As(why, &unchecked): // a repeat may succeed, as with the database
		status = http.StatusServiceUnavailable
	}
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/"):
		wire.Envelope{Message: why.Error(), Status: status}.Write(w)
	case errors.Is(why, errPage):
		wire.WriteJSON(w, status, wire.Declined(scRole, why.Error()))
	case status == http.StatusServiceUnavailable:
		wire.WriteJSON(w, status, wire.Declined(wire.ScTimeOut, why.Error()))
	default:
		wire.WriteJSON(w, http.StatusOK, wire.Declined(scRole, why.Error()))
	}
}
