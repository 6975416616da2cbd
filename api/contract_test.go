package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/api/pilots"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/golden"
	"github.com/divvyhq/divvy/internal/mutate"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/ownca"
)

// The served document is the committed one.
func TestDocumentIsCommitted(t *testing.T) {
	b := newBench(t)
	w := b.call("GET", "/openapi.json", "")
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/openapi+json" {
		t.Fatal(w.Code, w.Header())
	}
	golden.Equal(t, "openapi.json", w.Body.String())
}

// Every route is in the document and every operation of the document has a route.
func TestDocumentHasAllRoutes(t *testing.T) {
	b := newBench(t)
	described := map[string]bool{}
	for _, op := range operations(b) {
		described[op.Method+" "+op.Path] = true
		if op.OperationID == "" || op.Summary == "" || len(op.Tags) == 0 {
			t.Errorf("%s %s: no operation id, summary or tag", op.Method, op.Path)
		}
		for _, part := range strings.Split(op.Path, "/") {
			name := strings.Trim(part, "{}")
			if name != part && !slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool { return p.In == "path" && p.Name == name }) {
				t.Errorf("%s %s: %s is not read", op.Method, op.Path, part)
			}
		}
		if op.Responses["default"] == nil {
			t.Errorf("%s %s: errors are not described", op.Method, op.Path)
		}
	}
	bare := []string{"GET /metrics", "GET /openapi.json"}
	for _, r := range b.server.page.Routes() { // for people, see api/web
		bare = append(bare, r.Method+" "+r.Path)
	}
	err := chi.Walk(b.handler.(chi.Routes), func(method, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if route := method + " " + path; !described[route] && !slices.Contains(bare, route) {
			t.Errorf("%s is not in the document", route)
		}
		delete(described, method+" "+path)
		return nil
	})
	if err != nil || len(described) > 0 {
		t.Errorf("described but not there: %v %v", described, err)
	}
}

// operations lists the document's operations.
func operations(b *bench) (ops []*huma.Operation) {
	doc := b.server.doc.huma.OpenAPI()
	for path, item := range doc.Paths {
		for method, op := range map[string]*huma.Operation{"GET": item.Get, "POST": item.Post, "PUT": item.Put, "DELETE": item.Delete} {
			if op != nil {
				op.Method, op.Path = method, path
				ops = append(ops, op)
			}
		}
	}
	slices.SortFunc(ops, func(a, b *huma.Operation) int { return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method) })
	return ops
}

// bodies are good requests of the operations that need one.
var bodies = map[string]string{
	"pull":          goodPull,
	"renew-leases":  `{"pilot":"p","leases":[]}`,
	"finish-leases": `{"pilot":"p","results":[]}`,
	"report-output": `{"pilot":"p"}`,
	"create-token":  `{"name":"alice","role":"submitter","user":"alice"}`,
	"submit-task":   goodTask,
	"test-tags":     goodTask,
	"add-inputs":    "\"a\"\n\"b\"\n",
	"apply-site":    "shares: []\n",
	"what-if":       "shares: []\n", "retag": "shares: []\n", "apply-site-later": "shares: []\n",
	"reassign-tasks": `{"share":"A","tasks":[3]}`, "prioritise-task": `{"priority":900}`, "scale-task": `{"group":"g","replicas":2}`,
	"act-on-tasks": `{"verb":"pause","tasks":[3]}`, "clone-task": `{"changes":{"priority":5}}`, "submit-tasks": `{"tasks":[{"task":` + goodTask + `}]}`,
	"set-log":               `{"level":"info","parts":{"api":"debug"},"for_s":60}`,
	"create-claim":          `{"name":"disk","queue":"CERN","node":"n1"}`,
	"set-resource-capacity": `{"capacity":6}`, "report-external": `{"total":100,"used":30}`,
}

// needed are the query parameters that operations cannot do without.
var needed = map[string]string{"rollback-site": "?version=1", "apply-site-later": "?at=2030-01-01T00:00:00Z", "retag": "?since=7d", "why": "?a=A&b=B", "delete-claim": "?name=disk",
	"revoke-token": "?token=alice"}

const goodTask = `{"name":"t","user":"alice","label":"managed","command":["true"],"count":3,"requirements":{"cores":1,"walltime":"2h"}}`

// Every operation answers what the document says it does.
func TestAnswersAreAsDescribed(t *testing.T) {
	b := newBench(t, withIssuer(t, ownca.NewIssuer(t), loginLines), func(c *Config) { c.Book, c.Closed = nil, false })
	b.dispatcher.jobs = []dispatcher.JobRow{{ID: 7, State: "ready"}}
	registry := b.server.doc.huma.OpenAPI().Components.Schemas
	for _, op := range operations(b) {
		t.Run(op.OperationID, func(t *testing.T) {
			path := strings.NewReplacer("{id}", "7", "{name}", "CERN", "{version}", "2").Replace(op.Path)
			path += needed[op.OperationID]
			w := b.call(op.Method, path, bodies[op.OperationID])
			described := op.Responses[fmt.Sprint(w.Code)]
			if w.Code >= 300 || described == nil {
				t.Fatalf("%d, described are %v\n%s", w.Code, reflect.ValueOf(op.Responses).MapKeys(), w.Body)
			}
			var answer any
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
				t.Fatal(err)
			}
			for _, e := range validate(registry, described.Content["application/json"].Schema, answer) {
				t.Errorf("%v\n%s", e, w.Body)
			}
		})
	}
}

func validate(registry huma.Registry, schema *huma.Schema, v any) []error {
	result := huma.ValidateResult{}
	path := huma.NewPathBuffer(nil, 0)
	path.Push("body")
	huma.Validate(registry, schema, path, huma.ModeReadFromServer, v, &result)
	return result.Errors
}

// What the document says of the hand-decoded routes is what they do: both take and refuse the same bodies, and name
// the same places.
func TestDescriptionOfPulls(t *testing.T) {
	b := newBench(t)
	doc := b.server.doc.huma.OpenAPI()
	for path, good := range map[string]string{
		"/v1/pulls": `{"queue":"CERN","pilot":"p1","node":"n","devices":["gpu0"],"slot":{"cores":8,"memory_mb":1,"disk_mb":1,"walltime_s":1,"labels":{"os":"el9"}},
			"max":4,"wait_s":0.5,"request_id":"r","only":{"labels":["a"],"task":7,"user":"u"}}`,
		"/v1/leases/renew": `{"pilot":"p","leases":[{"lease":"L","state":"running","usage":{"cpu_s":1.5,"memory_mb":7},"report":{"a":1}}]}`,
		"/v1/leases/finish": `{"pilot":"p","results":[{"lease":"L","outcome":"failed","exit_code":1,"message":"m","usage":{"cpu_s":1,"memory_mb":7},
			"outputs":{"a":1},"log_tail":"t","report":{"a":1}}]}`,
	} {
		schema := doc.Paths[path].Post.RequestBody.Content["application/json"].Schema
		n := 0
		for _, body := range mutate.JSON(good) {
			if path == "/v1/pulls" && len(body) > pilots.MaxPull {
				continue // refused before it is read, see TestBadBodies
			}
			var v any
			if err := json.Unmarshal([]byte(body), &v); err != nil {
				t.Fatal(err)
			}
			faults := validate(doc.Components.Schemas, schema, v)
			w := b.call("POST", path, body)
			if (w.Code == 200) != (len(faults) == 0) || w.Code != 200 && w.Code != 422 {
				t.Errorf("%s: the document says %.300v, the handler %d\n%.300s\n%s", path, faults, w.Code, body, w.Body)
			}
			if w.Code == 422 && len(faults) == 1 {
				samePlace(t, body, faults[0], b.problem(w, 422))
			}
			n++
		}
		if n < 30 {
			t.Errorf("%s: only %d mutations", path, n)
		}
	}
}

// samePlace holds the places of a fault together. huma names the object that lacks a field, the handler the field;
// a value of the wrong type in a list has no index in encoding/json's error.
func samePlace(t *testing.T, body string, fault error, p *wire.Problem) {
	t.Helper()
	var detail *huma.ErrorDetail
	if d, ok := fault.(huma.ErrorDetailer); ok {
		detail = d.ErrorDetail()
	}
	if len(p.Errors) != 1 {
		t.Errorf("one fault, %d errors: %v\n%s", len(p.Errors), p, body)
		return
	}
	plain := strings.NewReplacer("[0]", "")
	said, want := plain.Replace(p.Errors[0].Location), plain.Replace(detail.Location)
	if !strings.HasPrefix(said, want) && !strings.HasPrefix(want, said) {
		t.Errorf("the document says %s, the handler %s\n%s", want, said, body)
	}
}

// A list longer than the bound is refused by both.
func TestBoundOfItems(t *testing.T) {
	b := newBench(t)
	for _, n := range []int{pilots.MaxItems, pilots.MaxItems + 1} {
		want := 200
		if n > pilots.MaxItems {
			want = 422
		}
		renew := `{"pilot":"p","leases":[` + strings.Repeat(`{"lease":"L"},`, n-1) + `{"lease":"L"}]}`
		if w := b.call("POST", "/v1/leases/renew", renew); w.Code != want {
			t.Errorf("%d leases: %d", n, w.Code)
		}
		finish := `{"pilot":"p","results":[` + strings.Repeat(`{"lease":"L","outcome":"failed"},`, n-1) + `{"lease":"L","outcome":"failed"}]}`
		if w := b.call("POST", "/v1/leases/finish", finish); w.Code != want {
			t.Errorf("%d results: %d", n, w.Code)
		}
	}
}
