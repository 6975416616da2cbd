package pilot

import (
	"errors"
	"net/http"
	"time"

	"github.com/divvyhq/divvy/api/client"
)

// verdict is what an answer means to a pilot.
type verdict int

const (
	good    verdict = iota
	later           // no answer, or "not now": ask again with the same body
	nothing         // no job for this slot, the queue takes none
	over            // this pull was answered before and all that it gave has ended
	reused          // the request id stands for another body
	refused         // asking again does not help
)

// answer is an error of the client, read.
type answer struct {
	verdict verdict
	after   time.Duration // the pause that the server asks for
	body    bool          // refused for what the request says, not for who says it
}

// problem is the part of the client's error that says what the server answered.
type problem interface {
	error
	HTTPStatus() int
	ErrorCode() string
	RetryAfter() time.Duration
}

// read tells what a pilot has to do about err.
func read(err error) answer {
	var p problem
	switch {
	case err == nil:
		return answer{verdict: good}
	case !errors.As(err, &p):
		if errors.Is(err, client.ErrNoJobs) {
			return answer{verdict: nothing}
		}
		return answer{verdict: later}
	}
	a := answer{verdict: refused, after: p.RetryAfter()}
	switch status := p.HTTPStatus(); {
	case status == http.StatusNoContent, p.ErrorCode() == "queue_closed":
		a.verdict = nothing
	case p.ErrorCode() == "request_over":
		a.verdict = over
	case p.ErrorCode() == "request_reused":
		a.verdict = reused
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status == 499, status == http.StatusTooEarly:
		a.verdict = later
	default:
		a.body = status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge || status == http.StatusUnprocessableEntity
	}
	return a
}
