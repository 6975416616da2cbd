package wire

import (
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

// HTTPStatus is the status of the answer.
func (p *Problem) HTTPStatus() int { return p.Status }

// ErrorCode is the stable name of the error.
func (p *Problem) ErrorCode() string { return p.Code }

// GetStatus and ContentType make a Problem an error that huma writes as it is.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType replaces JSON's content type by that of a problem.
func (*Problem) ContentType(string) string { return ProblemType }

// ProblemType is the content type of a Problem.
const ProblemType = "application/problem+json"

// RetryAfter is how long to wait before a repeat; 0 = a repeat does not help, or nothing was said.
func (p *Problem) RetryAfter() time.Duration { return time.Duration(p.RetryAfterS) * time.Second }
