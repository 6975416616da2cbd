package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/divvyhq/divvy/api/wire"
)

// ErrNoJobs is what errors.Is finds in the error of a pull that got none.
var ErrNoJobs = errors.New("no job for this slot")

// NoJobs is the error of a pull that got no job.
type NoJobs struct {
	After time.Duration // come back after it
}

func (e *NoJobs) Error() string { return ErrNoJobs.Error() }

// Is makes a NoJobs an ErrNoJobs.
func (e *NoJobs) Is(target error) bool { return target == ErrNoJobs }

// RetryAfter is how long the daemon wants to be left alone.
func (e *NoJobs) RetryAfter() time.Duration { return e.After }

// HTTPStatus and ErrorCode are what a Problem has too.
func (e *NoJobs) HTTPStatus() int { return http.StatusNoContent }

// ErrorCode is the name of the error.
func (e *NoJobs) ErrorCode() string { return "no_jobs" }

// Unreachable is a call that got no answer.
type Unreachable struct {
	URL string
	Err error
}

func (e *Unreachable) Error() string {
	return fmt.Sprintf("no answer from %s: %v (is the daemon running? `divvy serve` starts one)", e.URL, e.Err)
}

// Unwrap is the transport's error.
func (e *Unreachable) Unwrap() error { return e.Err }

// IsUnavailable reports whether the same call may succeed later: there was no answer, or the daemon cannot serve now.
func IsUnavailable(err error) bool {
	var away *Unreachable
	if errors.As(err, &away) {
		return true
	}
	switch status(err) {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// IsNotFound is true when what the call named does not exist.
func IsNotFound(err error) bool { return status(err) == http.StatusNotFound }

// IsCode is true when the daemon answered an error of that code.
func IsCode(err error, code string) bool {
	var p *wire.Problem
	return errors.As(err, &p) && p.Code == code
}

// RetryAfter is how long the daemon wants to be left alone; 0 = it did not say.
func RetryAfter(err error) time.Duration {
	var says interface{ RetryAfter() time.Duration }
	if errors.As(err, &says) {
		return says.RetryAfter()
	}
	return 0
}

func status(err error) int {
	var p *wire.Problem
	if errors.As(err, &p) {
		return p.Status
	}
	return 0
}

// neverSent is true when no connection was made, so that the daemon cannot have done anything.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// foreign begins the code of an answer that is no problem of a daemon's.
const foreign = "http_"

// problemOf reads an error answer. What is between us and the daemon may answer something else than a problem.
func problemOf(resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	p := &wire.Problem{}
	if !strings.Contains(resp.Header.Get("Content-Type"), "json") || json.Unmarshal(text, p) != nil || p.Title == "" {
		p = &wire.Problem{Title: resp.Status, Code: foreign + strconv.Itoa(resp.StatusCode), Detail: firstLine(text)}
	}
	p.Status = resp.StatusCode
	if p.RetryAfterS == 0 {
		p.RetryAfterS, _ = strconv.Atoi(resp.Header.Get("Retry-After"))
	}
	return p
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if len(line) > 200 {
		line = line[:200] + "…"
	}
	return line
}
