package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Problem is the body of every error (RFC 9457, application/problem+json).
type Problem struct {
	Title       string   `json:"title" doc:"What went wrong, the same for every occurrence of the code."`
	Status      int      `json:"status" doc:"HTTP status."`
	Code        string   `json:"code" doc:"Stable name of the error, for programs."`
	Detail      string   `json:"detail,omitempty" doc:"What went wrong this time."`
	Hint        string   `json:"hint,omitempty" doc:"What would help."`
	RequestID   string   `json:"request_id,omitempty" doc:"The X-Request-Id of the exchange, also in the daemon's log."`
	RetryAfterS int      `json:"retry_after_s,omitempty" doc:"Seconds after which a repeat may succeed; also the header Retry-After."`
	Next        *int64   `json:"next_offset,omitempty" doc:"With wrong_offset: where the inputs go on."`
	Errors      []Detail `json:"errors,omitempty" doc:"Everything that is wrong with the request, at once."`
}

// Detail is one thing that is wrong with a request.
type Detail struct {
	Location string `json:"location,omitempty" doc:"Where: body.slot.cores, query.limit, or file:line:column."`
	Message  string `json:"message" doc:"What is wrong there, and what would be right."`
	Hint     string `json:"hint,omitempty"`
	Value    any    `json:"value,omitempty" doc:"What was found there, if it is short."`
}

// mostErrors is how many errors one answer tells: after so many nobody reads on.
const mostErrors = 100

// Bounds of the texts of an error, in bytes. A key of a mapping may be megabytes long.
const (
	mostPlace = 500
	mostText  = 2000
)

// bounded is p with no more errors, and no longer texts, than an answer has.
func (p *Problem) bounded() *Problem {
	if more := len(p.Errors) - mostErrors; more > 0 {
		p.Errors = append(p.Errors[:mostErrors-1:mostErrors-1], Detail{Message: fmt.Sprintf("%d more errors are not told", more+1)})
	}
	p.Detail = clip(p.Detail, mostText)
	for i := range p.Errors {
		d := &p.Errors[i]
		d.Location, d.Message, d.Hint = clip(d.Location, mostPlace), clip(d.Message, mostText), clip(d.Hint, mostText)
	}
	return p
}

// clip cuts a text that is longer than most bytes.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// Error is the title and the detail, then one line for each of the errors.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.Title)
	if p.Detail != "" {
		b.WriteString(": " + p.Detail)
	}
	if p.Hint != "" {
		b.WriteString(" (" + p.Hint + ")")
	}
	for _, d := range p.Errors {
		b.WriteString("\n  " + d.String())
	}
	return b.String()
}

// String is "location: message (hint)".
func (d Detail) String() string {
	s := d.Message
	if d.Location != "" {
		s = d.Location + ": " + s
	}
	if d.Hint != "" {
		s += " (" + d.Hint + ")"
	}
	return s
}

// found is String with what was found there.
func (d Detail) found() string {
	if text, ok := d.Value.(string); ok && text != "" {
		d.Location += fmt.Sprintf(" is %q", text)
	}
	return d.String()
}

// HTTPStatus is the status of the answer.
func (p *Problem) HTTPStatus() int { return p.Status }

// ErrorCode is the stable name of the error.
func (p *Problem) ErrorCode() string { return p.Code }

// GetStatus and ContentType make a Problem an error that huma writes as it is.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType replaces JSON's content type by that of a problem.
func (*Problem) ContentType(string) string { return problemType }

const problemType = "application/problem+json"

// faults gathers what is wrong with one request.
type faults []Detail

func (f *faults) add(location, message string, value any) {
	*f = append(*f, Detail{Location: location, Message: message, Value: short(value)})
}

// ofQuery names the fields of a request that has no body by what they are there: parameters of the query.
func (p *Problem) ofQuery() {
	for i := range p.Errors {
		if field, ok := strings.CutPrefix(p.Errors[i].Location, "body."); ok {
			p.Errors[i].Location = "query." + field
		}
	}
}

// problem is nil when nothing is wrong.
func (f faults) problem() error {
	if len(f) == 0 {
		return nil
	}
	p := newProblem(codeInvalid, "")
	p.Errors = f
	return p
}

// echoed is what an answer repeats of a request's value: nothing of what jobs are given, nor of a body as a whole, which has that
// in it. An error is logged, and read by others than who made it.
func echoed(location string, v any) any {
	if _, whole := v.(map[string]any); whole || location == "body" {
		return nil
	}
	for _, given := range []string{"body.env", "body.command", "body.inputs"} {
		if strings.HasPrefix(location, given) {
			return nil
		}
	}
	return short(v)
}

// short is v when its JSON is short, else nil: an error must not echo megabytes.
func short(v any) any {
	const most = 200
	switch s := v.(type) {
	case nil, bool, int, int64, float64:
		return v
	case string:
		return clip(s, most)
	}
	if b, err := json.Marshal(v); err == nil && len(b) <= most {
		return v
	}
	return nil
}

// itemField is the place of a field in the i-th element of a list of the body.
func itemField(list string, i int, field string) string {
	return fmt.Sprintf("body.%s[%d].%s", list, i, field)
}

// RetryAfter is how long to wait before a repeat; 0 = a repeat does not help, or nothing was said.
func (p *Problem) RetryAfter() time.Duration { return time.Duration(p.RetryAfterS) * time.Second }
