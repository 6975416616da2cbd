package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/api/web"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/lookup"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/report"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/internal/site/strict"
)

// code is what an error is called on the wire, and all that is the same for each of its occurrences.
type code struct {
	status  int
	name    string
	title   string
	hint    string
	retryIn int // seconds; 0 = a repeat does not help
}

// Errors that this package finds by itself.
var (
	codeBadJSON      = code{status: 400, name: "bad_json", title: "The body is not JSON"}
	codeNoBody       = code{status: 400, name: "no_body", title: "The body is empty"}
	codeUnauthorized = code{status: 401, name: "unauthorized", title: "No valid token", hint: "send the header Authorization: Bearer <token>"}
	codeForbidden    = code{status: 403, name: "forbidden", title: "The token has not the right to do this", hint: "docs/access.md lists what each role may do"}
	codeForeign      = code{status: 403, name: "foreign_origin", title: "Refused: the request may come from a foreign web page",
		hint: "use the address that the daemon listens on, or run it with a token file"}
	codeNoRoute    = code{status: 404, name: "no_route", title: "Nothing lives at this path", hint: "GET /openapi.json lists what there is"}
	codeNoQueue    = code{status: 404, name: "unknown_queue", title: "No queue has this name"}
	codeNoShare    = code{status: 404, name: "unknown_share", title: "No share has this path"}
	codeNoResource = code{status: 404, name: "unknown_resource", title: "No resource has this name"}
	codeMethod     = code{status: 405, name: "method_not_allowed", title: "The path does not know this method", hint: "the header Allow names those it does"}
	codeOffset     = code{status: 409, name: "wrong_offset", title: "The inputs do not go on where the last ones ended", hint: "send from next_offset"}
	codeLiveWork   = code{status: 409, name: "live_work", title: "Live work forbids this change; nothing was applied"}
	codeSlowBody   = code{status: 408, name: "body_timeout", title: "The body did not arrive in time"}
	codeTooLarge   = code{status: 413, name: "body_too_large", title: "The body is too large"}
	codeMediaType  = code{status: 415, name: "media_type", title: "The body has a content type that this route does not take",
		hint: "send the header Content-Type: application/json"}
	codeTooFast   = code{status: 429, name: "too_fast", title: "Too many requests with this token", hint: "wait as long as Retry-After says; renewals and ends are always served", retryIn: 1}
	codeBadSite   = code{status: 422, name: "bad_site", title: "The site file is not valid; nothing was applied"}
	codeInvalid   = code{status: 422, name: "invalid", title: "The request is not valid"}
	codeGone      = code{status: 499, name: "client_gone", title: "The client went away"}
	codeInternal  = code{status: 500, name: "internal", title: "The daemon failed", hint: "the daemon's log has the error under this request id"}
	codeNotReady  = code{status: 503, name: "not_ready", title: "The daemon is not ready", retryIn: 1}
	codeDeadline  = code{status: 503, name: "deadline", title: "The request took too long", retryIn: 5}
	codeOverload  = code{status: 503, name: "overloaded", title: "The daemon has more to do than it can", hint: "renewals and ends are served; pull later, or at another daemon", retryIn: 3}
	codeUnchecked = code{status: 503, name: "token_unchecked", title: "The token cannot be checked now", retryIn: 10}
	codeDatabase  = code{status: 503, name: "database_unavailable", title: "The database is not available", retryIn: 2}
)

// known holds the sentinels of the packages below. First match counts.
var known = []struct {
	err error
	code
}{
	{access.ErrNoToken, code{status: 404, name: "no_token", title: "There is no such token", hint: "`divvy token list --all` lists them"}},
	{access.ErrName, code{status: 409, name: "token_name", title: "A token with this name is there already"}},
	{access.ErrInvalid, codeInvalid},
	{errNotYours, codeForbidden},
	{dispatcher.ErrUnknownQueue, codeNoQueue},
	{dispatcher.ErrUnknownResource, codeNoResource},
	{dispatcher.ErrNoClaim, code{status: 404, name: "no_claim", title: "There is no such resource claim",
		hint: "those of tasks that ended are kept for some days"}},
	{dispatcher.ErrClaimExists, code{status: 409, name: "claim_exists", title: "There is a resource claim of this name",
		hint: "choose another name, or delete it: `divvy resource-claim delete`"}},
	{dispatcher.ErrClaimHeld, code{status: 409, name: "claim_held", title: "Jobs hold the resource claim",
		hint: "with force no others get to hold it, and it goes with the last of them"}},
	{dispatcher.ErrDeviceTaken, code{status: 409, name: "device_taken", title: "Another resource claim has the device"}},
	{lookup.ErrNoJob, code{status: 404, name: "no_job", title: "No job has this id"}},
	{lookup.ErrNoAttempt, code{status: 404, name: "no_attempt", title: "No such attempt has ended",
		hint: "the output of an attempt is kept when it ends"}},
	{dispatcher.ErrQueueClosed, code{status: 409, name: "queue_closed", title: "The queue takes no jobs now",
		hint: "it drains or is offline; `divvy queue online` opens it", retryIn: 30}},
	{dispatcher.ErrRequestOver, code{status: 409, name: "request_over", title: "All leases of this request id have ended",
		hint: "pull with a new request id"}},
	{dispatcher.ErrRequestReused, code{status: 422, name: "request_reused", title: "This request id was used with another body",
		hint: "pull with a new request id"}},
	{dispatcher.ErrUnavailable, code{status: 503, name: "unavailable", title: "It is not known whether this was done",
		hint: "ask again; a pull with a request_id can be repeated without loss", retryIn: 1}},
	{dispatcher.ErrRefused, code{status: 409, name: "refused", title: "This contradicts what is so by now; nothing was changed"}},
	{dispatcher.ErrStopping, code{status: 503, name: "stopping", title: "The daemon stops", retryIn: 2}},
	{job.ErrInvalid, codeInvalid},
	{generator.ErrNoTask, code{status: 404, name: "no_task", title: "No task has this id"}},
	{dispatcher.ErrNoTask, code{status: 404, name: "no_task", title: "No task has this id"}},
	{generator.ErrSiteChanged, code{status: 503, name: "site_changed", title: "The site has just changed", retryIn: 1}},
	{generator.ErrState, code{status: 409, name: "task_state", title: "The task is in a state in which this cannot be done"}},
	{generator.ErrNoSite, code{status: 409, name: "no_site", title: "No site file has been applied yet, so there are no shares",
		hint: "`divvy apply -f site.yml` applies one"}},
	{generator.ErrKeyReused, code{status: 422, name: "key_reused", title: "This Idempotency-Key was used with another body",
		hint: "send another key, or the same body"}},
	{generator.ErrUntagged, code{status: 422, name: "untagged", title: "The task gets no share",
		hint: "`divvy tags test -f task.yml` explains, rule by rule; share: in the task names one"}},
	{spec.ErrInvalid, codeInvalid},
	{site.ErrMoving, code{status: 503, name: "moving", title: "Live work moves first; the change is not in force yet",
		hint: "send the same request again: it goes on", retryIn: 1}},
	{site.ErrNoVersion, code{status: 404, name: "no_version", title: "No site version has this number"}},
	{site.ErrUnreadable, code{status: 409, name: "unreadable_version", title: "This divvy does not read a stored site version",
		hint: "`divvy shares show --version` shows the file as it was written; a file that is applied takes its place"}},
	{site.ErrNoLater, code{status: 404, name: "no_later", title: "No later version has this number", hint: "`divvy apply --list-later` lists them"}},
	{site.ErrLaterOver, code{status: 409, name: "later_over", title: "The later version does not wait any more"}},
	{site.ErrPast, code{status: 422, name: "past", title: "The time is not in the future"}},
	{site.ErrUnknownQueue, codeNoQueue},
	{site.ErrQueueState, codeInvalid},
	{site.ErrUnknownResource, codeNoResource},
	{site.ErrCapacity, codeInvalid},
	{report.ErrUnknown, code{status: 404, name: "unknown_report", title: "No report has this name", hint: "`divvy report` lists them"}},
	{report.ErrBy, codeInvalid},
	{web.ErrNoPage, code{status: 404, name: "no_page", title: "There is no such page"}},
	{web.ErrQuery, codeInvalid},
	{web.ErrMeanwhile, code{status: 409, name: "meanwhile", title: "What the form was made of has changed meanwhile"}},
	{web.ErrUnauthorized, codeUnauthorized},
	{web.ErrForeign, codeForeign},
	{web.ErrForm, code{status: 403, name: "foreign_form", title: "The form was not made by this page for this browser",
		hint: "open the page again and send the form from there; cookies must be allowed"}},
	{web.ErrTooMany, code{status: 503, name: "too_many_pages", title: "Too many pages are open at this daemon", retryIn: 10}},
}

// How PostgreSQL says that it does not take a text: SQLSTATEs.
const (
	codeNotInEncoding  = "22021"
	codeUntranslatable = "22P05"
)

// problemOf is the one way from an error to what the client sees.
func problemOf(err error) *wire.Problem {
	p := problemIn(err)
	if q := (web.OfQuery{}); errors.As(err, &q) {
		asQuery(p)
	}
	return bounded(p)
}

func problemIn(err error) *wire.Problem {
	var p *wire.Problem
	if errors.As(err, &p) {
		return p
	}
	if p := detailed(err); p != nil {
		return p
	}
	for _, k := range known {
		if errors.Is(err, k.err) {
			return newProblem(k.code, strings.TrimPrefix(err.Error(), generator.ErrUntagged.Error()+": ")) // its title says that
		}
	}
	switch code := pg.Code(err); {
	case code == codeNotInEncoding || code == codeUntranslatable:
		return newProblem(codeInvalid, "a text of the request has the character U+0000, or bytes that are no UTF-8: the database does not take it")
	case errors.Is(err, context.Canceled):
		return newProblem(codeGone, "")
	case pg.IsUnavailable(err):
		return newProblem(codeDatabase, "")
	case errors.Is(err, context.DeadlineExceeded):
		return newProblem(codeDeadline, "")
	}
	return newProblem(codeInternal, "") // what went wrong is the log's business
}

// detailed takes the errors that know the place of what is wrong.
func detailed(err error) *wire.Problem {
	var field *job.FieldError
	var task spec.Faults
	var file strict.Problems
	var offset *generator.OffsetError
	var refused *site.Refused
	var link web.WrongQuery
	switch {
	case errors.As(err, &link):
		p := newProblem(codeInvalid, "")
		for _, w := range link {
			p.Errors = append(p.Errors, wire.Detail{Location: "query." + w.Name, Message: w.Message, Hint: w.Hint, Value: short(w.Value)})
		}
		return p
	case errors.As(err, &field):
		p := newProblem(codeInvalid, "")
		p.Errors = []wire.Detail{{Location: "body." + field.Field, Message: "expected " + field.Want, Value: short(field.Value)}}
		return p
	case errors.As(err, &task):
		p := newProblem(codeInvalid, "")
		for _, f := range task {
			p.Errors = append(p.Errors, wire.Detail{Location: "body." + f.Field, Message: f.Message, Hint: f.Hint})
		}
		return p
	case errors.As(err, &file):
		p := newProblem(codeBadSite, "")
		for _, f := range file {
			p.Errors = append(p.Errors, wire.Detail{Location: f.Place(), Message: f.Message, Hint: f.Hint})
		}
		return p
	case errors.As(err, &refused):
		p := newProblem(codeLiveWork, "")
		for _, o := range refused.Obstacles {
			p.Errors = append(p.Errors, wire.Detail{Location: cmp.Or(o.Share, o.Queue), Message: o.Message, Hint: o.Hint, Value: o.Live})
		}
		return p
	case errors.As(err, &offset):
		p := newProblem(codeOffset, err.Error())
		p.Next = &offset.Want
		return p
	}
	return nil
}

func newProblem(c code, detail string) *wire.Problem {
	p := &wire.Problem{Title: c.title, Status: c.status, Code: c.name, Detail: detail, Hint: c.hint}
	if c.retryIn > 0 {
		p.RetryAfterS = c.retryIn + rand.IntN(c.retryIn+1) // jitter: pilots that failed together must not return together
	}
	return p
}

// fail answers err and remembers it for the log.
func (s *server) fail(w http.ResponseWriter, err error) {
	p := problemOf(err)
	s.sign(w, p, err)
	w.Header().Set("Content-Type", wire.ProblemType)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client may have gone
}

// sign puts the request id on p, the error into the exchange, and Retry-After into the header.
func (s *server) sign(w http.ResponseWriter, p *wire.Problem, err error) {
	if x := exchangeOf(w); x != nil {
		p.RequestID, x.err = x.id, err
	}
	if p.RetryAfterS > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.RetryAfterS))
	}
}

// noBody is what huma says of a missing body, with the status of one that is not JSON.
const noBody = "request body is required"

// fromHuma turns huma's own findings (validation, body limits) into the problem that the rest of the API speaks.
func fromHuma(e *huma.ErrorModel) *wire.Problem {
	if e.Detail == noBody { // a site file is no JSON
		return newProblem(codeNoBody, "")
	}
	var c code
	switch e.Status {
	case 400:
		c = codeBadJSON
	case 408:
		c = codeSlowBody
	case 413:
		c = codeTooLarge
	case 415:
		c = codeMediaType
	case 422:
		c = codeInvalid
	default:
		c = codeInternal
		c.status = e.Status
	}
	p := newProblem(c, "")
	if len(e.Errors) == 0 {
		p.Detail = e.Detail
	}
	for _, d := range e.Errors {
		p.Errors = append(p.Errors, wire.Detail{Location: d.Location, Message: d.Message, Value: echoed(d.Location, d.Value)})
	}
	return bounded(p)
}
