package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/login"
)

// Explain turns errors of the API into what a person at a terminal should read and do.
func Explain(err error) error {
	var h fail.Hinted
	if errors.As(err, &h) {
		return err
	}
	var away *client.Unreachable
	if errors.As(err, &away) {
		return fail.Hintf(errors.New("no daemon answers at "+away.URL+": "+rootCause(away.Err)),
			"Start one with 'divvy serve', or name another with --server URL or DIVVY_SERVER.")
	}
	var ended *login.Ended
	if errors.As(err, &ended) {
		return fail.Hintf(err, "Run: divvy login --server %s", ended.Server)
	}
	if errors.As(err, new(*login.Away)) {
		return fail.Hintf(err, "Your login cannot be renewed now; it stays as it is. Try again.")
	}
	var p *wire.Problem
	if errors.As(err, &p) {
		return explainProblem(err, p)
	}
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted")
	}
	return err
}

// explainProblem puts the hint of the server on a line of its own, or a better one for the command line.
func explainProblem(err error, p *wire.Problem) error {
	plain := *p
	plain.Hint = ""
	text := strings.Replace(err.Error(), p.Error(), plain.Error(), 1)
	hint := p.Hint
	switch p.Code {
	case "unauthorized":
		hint = "Log in: divvy login. Or put a token into DIVVY_TOKEN, or name its file with --token-file."
	case "no_task":
		hint = "'divvy task list' has those there are."
	case "no_job":
		hint = "'divvy job list --task TASK' has those of a task."
	case "internal":
		if p.RequestID != "" {
			hint = "The daemon's log has the error under request id " + p.RequestID + "."
		}
	}
	if hint == "" {
		return errors.New(text)
	}
	return fail.Hintf(errors.New(text), "%s", hint)
}

// rootCause is the innermost message: "connection refused" says more than the calls that led there.
func rootCause(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}
