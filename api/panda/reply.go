package panda

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// Status codes inside of answers. Who may not come in is told scRole.
const (
	scSuccess = 0
	scTimeOut = 10
	scNoJobs  = 20
	scFailed  = 30
	scInvalid = 50
)

// Words that pilots know, or that their logs should have.
const (
	oldNoJobs = "no jobs in PanDA"
	newNoJobs = "No jobs in PanDA"
	tryAgain  = "timed out, try again"

	killed    = "tobekilled" // ends the payload
	noCommand = "NULL"       // of the old API, where there is no command
)

// envelope is an answer of the new API. Status is that of HTTP; 0 = 200.
type envelope struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
	Data    any    `json:"data"`
	Command string `json:"command,omitempty"`
	Status  int    `json:"-"`
}

// good is the envelope of what went well.
func good(data any) envelope { return envelope{Success: true, Data: data} }

// maxMessage bounds what is said of what went wrong, in bytes: it names things as they came, which may be megabytes long.
const maxMessage = 16 << 10

// bad is the envelope of what did not.
func bad(format string, args ...any) envelope {
	return envelope{Message: cut(fmt.Sprintf(format, args...), maxMessage)}
}

// write sends the envelope.
func (e envelope) write(w http.ResponseWriter) {
	writeJSON(w, max(e.Status, http.StatusOK), e)
}

// refusal is an answer of the old API that says no.
type refusal struct {
	StatusCode  int    `json:"StatusCode"`
	ErrorDialog string `json:"errorDialog"`
}

// declined is a refusal.
func declined(code int, why string) refusal { return refusal{code, why} }

// writeJSON answers with v. Pilots read no chunks and no compressed answers: the length is said.
func writeJSON(w http.ResponseWriter, status int, v any) {
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
