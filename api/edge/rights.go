package edge

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/internal/access"
)

// Paths that pilots POST to.
const (
	PathPulls  = "/v1/pulls"
	PathRenew  = "/v1/leases/renew"
	PathFinish = "/v1/leases/finish"
	PathOutput = "/v1/leases/output"
)

// Right is which roles have one route. What a submitter or a share owner may do with it is bounded further, in own.go.
type Right struct {
	Method, Pattern string
	Roles           []access.Role
}

// Who may what. Everything else is an admin's.
var (
	pilots     = []access.Role{access.Pilot, access.Admin}
	everybody  = access.Roles()
	viewers    = []access.Role{access.Reader, access.ShareOwner, access.Operator, access.Admin}
	people     = append([]access.Role{access.Submitter}, viewers...)
	submitters = []access.Role{access.Submitter, access.Operator, access.Admin}
	operators  = []access.Role{access.Operator, access.Admin}
	owners     = []access.Role{access.ShareOwner, access.Admin}
	admins     = []access.Role{access.Admin}
)

// Rights is the one table of roles and routes: those of the API, then those of the page. A test holds it against the router.
// A route that is missing is an admin's.
var Rights = table(map[string][]access.Role{
	"POST /v1/pulls": pilots, "POST /v1/leases/renew": pilots, "POST /v1/leases/finish": pilots, "POST /v1/leases/output": pilots,

	"GET /v1/status": everybody, "GET /v1/whoami": everybody, "GET /openapi.json": everybody,
	"GET /metrics": viewers, "GET /v1/log": viewers, "PUT /v1/log": operators,

	"POST /v1/tasks": submitters, "POST /v1/tasks/batch": submitters, "POST /v1/tasks/{id}/clone": submitters,
	"PUT /v1/tasks/{id}/inputs": submitters, "POST /v1/tasks/{id}/commit": submitters,
	"POST /v1/tasks/{id}/kill": submitters, "POST /v1/tasks/{id}/pause": submitters, "POST /v1/tasks/{id}/resume": submitters,
	"POST /v1/tasks/{id}/retry": submitters, "POST /v1/tasks/{id}/finish": submitters, "POST /v1/tasks/{id}/avalanche": submitters,
	"POST /v1/tasks/{id}/priority": submitters, "POST /v1/tasks/{id}/scale": submitters, "POST /v1/tasks/actions": submitters,
	"POST /v1/tasks/reassign": operators,
	"GET /v1/tasks":           people, "GET /v1/tasks/{id}": people, "GET /v1/tasks/{id}/queues": people, "GET /v1/tasks/{id}/explain": people, "POST /v1/tags/test": people,
	"POST /v1/tags/what-if": viewers,

	"GET /v1/jobs": people, "GET /v1/jobs/{id}": people, "GET /v1/jobs/{id}/log": people, "GET /v1/jobs/{id}/output": people, "GET /v1/jobs/{id}/explain": people,
	"POST /v1/jobs/{id}/kill": submitters,

	"GET /v1/shares": people, "GET /v1/shares/why": people, "GET /v1/stock": people, "POST /v1/shares/what-if": viewers,
	"GET /v1/queues": people, "GET /v1/queues/{name}": people, "GET /v1/queues/{name}/wanted": everybody,
	"POST /v1/queues/{name}/drain": operators, "POST /v1/queues/{name}/online": operators, "POST /v1/queues/{name}/test": operators,
	"POST /v1/queues/{name}/offline": operators,

	"GET /v1/resources": people, "GET /v1/resources/{name}": people, "PUT /v1/resources/{name}/capacity": operators,
	"DELETE /v1/resources/{name}/capacity": operators, "POST /v1/resources/{name}/external": operators,
	"GET /v1/resource-claims": viewers, "GET /v1/resource-claims/{id}": viewers, "POST /v1/resource-claims": operators,
	"DELETE /v1/resource-claims": operators,

	"GET /v1/reports": viewers, "GET /v1/reports/{name}": viewers,

	"GET /v1/site": viewers, "GET /v1/site/versions": viewers, "GET /v1/site/versions/{version}": viewers, "GET /v1/site/diff": viewers,
	"GET /v1/site/later": viewers, "GET /v1/site/later/{id}": viewers,
	"PUT /v1/site": owners, "POST /v1/site/rollback": admins, "POST /v1/site/later": admins, "DELETE /v1/site/later/{id}": admins,

	"GET /v1/audit": viewers, "GET /v1/tokens": admins, "POST /v1/tokens": admins, "DELETE /v1/tokens": admins,

	"GET /": people, "GET /shares/*": people, "GET /series/*": people, "GET /queues": people, "GET /queues/{queue}": people,
	"GET /tasks": people, "GET /tasks/{task}": people, "GET /jobs/{job}": people, "GET /events": viewers,
	"GET /versions": viewers, "GET /versions/{version}": viewers, "GET /what-if": viewers, "GET /resources": viewers,
	"GET /resources/*": viewers, "GET /claims": viewers, "GET /claims/{claim}": viewers, "GET /decisions": viewers, "GET /changes": viewers,
	"GET /reports": viewers, "GET /reports/{report}": viewers,
	"POST /what-if": viewers, "POST /apply": owners, "POST /tasks/{task}/say": submitters, "POST /tasks/{task}/priority": submitters,
	"POST /jobs/{job}/kill": submitters, "POST /queues/{queue}/state": operators,
})

func table(of map[string][]access.Role) map[string]*Right {
	all := make(map[string]*Right, len(of))
	for route, roles := range of {
		method, pattern, _ := strings.Cut(route, " ")
		all[route] = &Right{method, pattern, roles}
	}
	return all
}

// RightOf is the right to a route.
func RightOf(method, pattern string) *Right {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if r := Rights[method+" "+pattern]; r != nil {
		return r
	}
	return &Right{method, pattern, admins}
}

// Has reports whether a caller has one of the roles of the right.
func (r *Right) Has(c *access.Caller) bool { return slices.Contains(r.Roles, c.Role) }

// Refuse says which roles would do.
func (r *Right) Refuse(c *access.Caller) error {
	names := make([]string, len(r.Roles))
	for i, role := range r.Roles {
		names[i] = string(role)
	}
	return fmt.Errorf("%w: %s %s needs a token with the role %s; this is %s", problem.ErrNotYours, r.Method, r.Pattern, strings.Join(names, " or "), c)
}
