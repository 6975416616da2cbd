package api

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/api/pilots"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/live"
)

// describe adds the routes of package pilots to the document.
func (d *document) describe() {
	pull := huma.Operation{
		OperationID: "pull", Method: http.MethodPost, Path: "/v1/pulls", Tags: []string{"pilots"}, Summary: "Ask for jobs",
		Description: "Waits up to wait_s for a job that the slot may run, and up to 5 s longer, also with 0, for jobs that are being made. A repeat with the same request_id gets the same leases, those of them that still run; " +
			"with another body it is refused (422 request_reused), and when all its leases have ended, too (409 request_over). Unknown fields are ignored.",
		MaxBodyBytes: pilots.MaxPull,
		Responses: map[string]*huma.Response{"204": {
			Description: "No job for this slot now. Come back after Retry-After seconds.",
			Headers:     map[string]*huma.Param{"Retry-After": {Schema: &huma.Schema{Type: huma.TypeInteger}, Description: "Seconds, with jitter."}},
		}},
	}
	d.add(pull, reflect.TypeFor[dispatcher.PullRequest](), reflect.TypeFor[dispatcher.PullReply]())
	d.add(huma.Operation{
		OperationID: "renew-leases", Method: http.MethodPost, Path: "/v1/leases/renew", Tags: []string{"pilots"}, Summary: "Keep leases",
		Description: "The heartbeat of a pilot, for all its leases at once. A lease that is lost, or at a queue that the token is not for, must be stopped; one in cancel is to be ended with " +
			"SIGTERM, and SIGKILL after its grace. Unknown fields are ignored.",
	}, reflect.TypeFor[dispatcher.RenewRequest](), reflect.TypeFor[dispatcher.RenewReply]())
	d.add(huma.Operation{
		OperationID: "finish-leases", Method: http.MethodPost, Path: "/v1/leases/finish", Tags: []string{"pilots"}, Summary: "Report ended attempts",
		Description: "Idempotent: repeat it until it is answered. lease_lost means that the attempt had ended otherwise, or is at a queue that the token is not for, and nothing was changed. " +
			"Where a result is not as described all are refused, 422 with the place of each fault, and nothing is recorded: send the others without it. Unknown fields are ignored.",
	}, reflect.TypeFor[dispatcher.FinishRequest](), reflect.TypeFor[dispatcher.FinishReply]())
	d.add(huma.Operation{
		OperationID: "report-output", Method: http.MethodPost, Path: "/v1/leases/output", Tags: []string{"pilots"}, Summary: "Send what followed attempts write",
		Description: "Tells a pilot which of its attempts are followed, and takes what they write. Keep one request open that waits (wait_s) while jobs run; when something is wanted, " +
			"send it, as it is written, until it is wanted no more. A chunk that is not wanted is ignored. Unknown fields are ignored.",
	}, reflect.TypeFor[live.OutputReport](), reflect.TypeFor[live.OutputReply]())
}

// pilotShapes are the requests of pilots and what they are made of: unknown fields are ignored and null is absent,
// as the hand-written decoders have it.
var pilotShapes = []string{"PullRequest", "Slot", "Only", "RenewRequest", "Renewal", "Usage", "FinishRequest", "Result", "OutputReport", "OutputChunk"}

// tidy corrects the schemas: pilots' requests allow unknown fields, and no list is null except where a pilot may send
// null.
func (d *document) tidy() {
	schemas := d.huma.OpenAPI().Components.Schemas.Map()
	for _, schema := range schemas {
		for _, property := range schema.Properties {
			if property.Type == huma.TypeArray {
				property.Nullable = false
			}
		}
	}
	for _, name := range pilotShapes {
		schema := schemas[name]
		schema.AdditionalProperties = true
		for key, property := range schema.Properties {
			if property.Ref == "" && !slices.Contains(schema.Required, key) {
				property.Nullable = true
			}
		}
	}
}

// add adds a route of a plain handler to the document. A nil in means no body.
func (d *document) add(op huma.Operation, in, out reflect.Type) {
	registry := d.huma.OpenAPI().Components.Schemas
	if in != nil {
		op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			"application/json": {Schema: registry.Schema(in, true, "")},
		}}
	}
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	op.Responses[strconv.Itoa(http.StatusOK)] = &huma.Response{
		Description: http.StatusText(http.StatusOK),
		Content:     map[string]*huma.MediaType{"application/json": {Schema: registry.Schema(out, true, "")}},
	}
	op.Responses["default"] = &huma.Response{
		Description: "Error",
		Content:     map[string]*huma.MediaType{wire.ProblemType: {Schema: registry.Schema(reflect.TypeFor[wire.Problem](), true, "")}},
	}
	d.huma.OpenAPI().AddOperation(&op)
}
