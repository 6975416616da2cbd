package api

import (
	"io"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/api/wire"
)

// inputs is PUT /v1/tasks/{id}/inputs?offset=N. It reads the body as a stream of any length.
func (s *taskCalls) inputs(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil || id < 1 {
		var f problem.Faults
		f.Add("path.id", "expected the id of a task", chi.URLParam(r, "id"))
		s.doc.edge.Fail(w, f.Problem())
		return
	}
	offset := int64(0)
	if text := r.URL.Query().Get("offset"); text != "" {
		if offset, err = strconv.ParseInt(text, 10, 64); err != nil || offset < 0 {
			var f problem.Faults
			f.Add("query.offset", "expected the number of inputs sent before, 0 or more", text)
			s.doc.edge.Fail(w, f.Problem())
			return
		}
	}
	edge.Extend(w, s.doc.timeout)
	next, err := s.submissions.AddInputs(r.Context(), id, offset, &steady{body: r.Body, w: w, pace: s.doc.timeout})
	if err != nil {
		s.doc.edge.Fail(w, err)
		return
	}
	edge.Reply(w, wire.Stored{Task: id, Next: next})
}

// steady reads a body of any length and extends the connection's deadlines as long as data arrives.
type steady struct {
	body io.Reader
	w    http.ResponseWriter
	pace time.Duration
	last time.Time
}

// Read extends the deadlines at most once a second.
func (s *steady) Read(p []byte) (int, error) {
	if now := time.Now(); now.Sub(s.last) > time.Second {
		s.last = now
		edge.Extend(s.w, s.pace)
	}
	return s.body.Read(p)
}

func (s *taskCalls) describeInputs() {
	var zero float64
	s.doc.add(huma.Operation{
		OperationID: "add-inputs", Method: http.MethodPut, Path: "/v1/tasks/{id}/inputs", Tags: []string{"tasks"}, Summary: "Stream inputs into a submitting task",
		Description: "One JSON string, or object with name, size, events and locations, a line (NDJSON), any number of lines. Resumable: offset is the number of inputs that were stored before; " +
			"a wrong one is refused (409 wrong_offset) with next_offset to go on from. What an interrupted stream had stored stays.",
		Parameters: []*huma.Param{
			{Name: "id", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeInteger, Format: "int64"}},
			{Name: "offset", In: "query", Schema: &huma.Schema{Type: huma.TypeInteger, Format: "int64", Minimum: &zero, Default: 0}},
		},
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			"application/x-ndjson": {Schema: &huma.Schema{Type: huma.TypeString}},
		}},
	}, nil, reflect.TypeFor[wire.Stored]())
}
