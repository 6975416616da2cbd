package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// Status codes inside of answers. Who may not come in is told scRole.
const (
	ScSuccess = 0
	ScTimeOut = 10
	ScNoJobs  = 20
	ScFailed  = 30
	ScInvalid = 50
)

// Words that pilots know, or that their logs should have.
const (
	OldNoJobs = "no jobs in PanDA"
	NewNoJobs = "No jobs in PanDA"
	TryAgain  = "timed out, try again"

	Killed    = "tobekilled" // ends the payload
	NoCommand = "NULL"       // of the old API, where there is no command
)

// Envelope is an answer of the new API. Status is that of HTTP; 0 = 200.
type Envelope struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
	Data    any    `json:"data"`
	Command string `json:"command,omitempty"`
	Status  int    `json:"-"`
}

// Good is the envelope of a success.
func Good(data any) Envelope { return Envelope{Success: true, Data: data} }

// MaxMessage bounds the text of a failure, in bytes: it may quote arguments that are megabytes long.
const MaxMessage = 16 << 10

// Bad is the envelope of a failure.
func Bad(format string, args ...any) Envelope {
	return Envelope{Message: Cut(fmt.Sprintf(format, args...), MaxMessage)}
}

// Write sends the envelope.
func (e Envelope) Write(w http.ResponseWriter) {
	WriteJSON(w, max(e.Status, http.StatusOK), e)
}

// refusal is the result of Declined.
type refusal struct {
	StatusCode  int    `json:"StatusCode"`
	ErrorDialog string `json:"errorDialog"`
}

// Declined is an answer of the old API that says no.
func Declined(code int, why string) any { return refusal{code, why} }

// WriteJSON answers with v. It sets the length, since pilots read no chunks and no compressed answers.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("panda: %T does not encode: %v", v, err)) // the edge answers 500
	}
	body := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the pilot may have gone
}
