package problem

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/api/web"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/lookup"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/tags"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/report"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/internal/site/strict"
)

// Code is what an error is called on the wire, and all that is the same for each of its occurrences.
type Code struct {
	Status  int
	Name    string
	Title   string
	Hint    string
	RetryIn int // seconds; 0 = a repeat does not help
}

// Errors that this package finds by itself.
var (
	BadJSON      = Code{Status: 400, Name: "bad_json", Title: "The body is not JSON"}
	NoBody       = Code{Status: 400, Name: "no_body", Title: "The body is empty"}
	Unauthorized = Code{Status: 401, Name: "unauthorized", Title: "No valid token", Hint: "send the header Authorization: Bearer <token>"}
	Forbidden    = Code{Status: 403, Name: "forbidden", Title: "The token has not the right to do this", Hint: "docs/access.md lists what each role may do"}
	Foreign      = Code{Status: 403, Name: "foreign_origin", Title: "Refused: the request may come from a foreign web page",
		Hint: "use the address that the daemon listens on, or run it with a token file"}
	NoRoute = Code{Status: 404, Name: "no_route", Title: "Nothing lives at this path", Hint: "GET /openapi.json lists what there is"}
	NoLogin = Code{Status: 404, Name: "no_login", Title: "Nobody logs in at this daemon: no issuer of web tokens is for that",
		Hint: "its operator adds a line to the file that the setting issuers names: https://iam.example.org/ CLIENT login; docs/howto/let-people-in.md"}
	NoQueue    = Code{Status: 404, Name: "unknown_queue", Title: "No queue has this name"}
	NoShare    = Code{Status: 404, Name: "unknown_share", Title: "No share has this path"}
	NoResource = Code{Status: 404, Name: "unknown_resource", Title: "No resource has this name"}
	Method     = Code{Status: 405, Name: "method_not_allowed", Title: "The path does not know this method", Hint: "the header Allow names those it does"}
	Offset     = Code{Status: 409, Name: "wrong_offset", Title: "The inputs do not go on where the last ones ended", Hint: "send from next_offset"}
	LiveWork   = Code{Status: 409, Name: "live_work", Title: "Live work forbids this change; nothing was applied"}
	SlowBody   = Code{Status: 408, Name: "body_timeout", Title: "The body did not arrive in time"}
	TooLarge   = Code{Status: 413, Name: "body_too_large", Title: "The body is too large"}
	MediaType  = Code{Status: 415, Name: "media_type", Title: "The body has a content type that this route does not take",
		Hint: "send the header Content-Type: application/json"}
	TooFast   = Code{Status: 429, Name: "too_fast", Title: "Too many requests with this token", Hint: "wait as long as Retry-After says; renewals and ends are always served", RetryIn: 1}
	BadSite   = Code{Status: 422, Name: "bad_site", Title: "The site file is not valid; nothing was applied"}
	Invalid   = Code{Status: 422, Name: "invalid", Title: "The request is not valid"}
	Gone      = Code{Status: 499, Name: "client_gone", Title: "The client went away"}
	Internal  = Code{Status: 500, Name: "internal", Title: "The daemon failed", Hint: "the daemon's log has the error under this request id"}
	NotReady  = Code{Status: 503, Name: "not_ready", Title: "The daemon is not ready", RetryIn: 1}
	Deadline  = Code{Status: 503, Name: "deadline", Title: "The request took too long", RetryIn: 5}
	Overload  = Code{Status: 503, Name: "overloaded", Title: "The daemon has more to do than it can", Hint: "renewals and ends are served; pull later, or at another daemon", RetryIn: 3}
	Unchecked = Code{Status: 503, Name: "token_unchecked", Title: "The token cannot be checked now", RetryIn: 10}
	Database  = Code{Status: 503, Name: "database_unavailable", Title: "The database is not available", RetryIn: 2}
)

// ErrNotYours is what a caller has no right to.
var ErrNotYours = errors.New("forbidden")

// known holds the sentinels of the packages below. First match counts.
var known = []struct {
	err error
	Code
}{
	{access.ErrNoToken, Code{Status: 404, Name: "no_token", Title: "There is no such token", Hint: "`divvy token list --all` lists them"}},
	{access.ErrName, Code{Status: 409, Name: "token_name", Title: "A token with this name is there already"}},
	{access.ErrInvalid, Invalid},
	{ErrNotYours, Forbidden},
	{dispatcher.ErrUnknownQueue, NoQueue},
	{dispatcher.ErrNoProvision, Code{Status: 409, Name: "no_provision", Title: "The site file does not say which pilots the queue may have",
		Hint: "give the queue a provision, for instance provision: {max: 10, slots: 8}; docs/howto/start-pilots.md"}},
	{dispatcher.ErrUnknownResource, NoResource},
	{dispatcher.ErrNoClaim, Code{Status: 404, Name: "no_claim", Title: "There is no such resource claim",
		Hint: "those of tasks that ended are kept for some days"}},
	{dispatcher.ErrClaimExists, Code{Status: 409, Name: "claim_exists", Title: "There is a resource claim of this name",
		Hint: "choose another name, or delete it: `divvy resource-claim delete`"}},
	{dispatcher.ErrClaimHeld, Code{Status: 409, Name: "claim_held", Title: "Jobs hold the resource claim",
		Hint: "with force no others get to hold it, and it goes with the last of them"}},
	{dispatcher.ErrDeviceTaken, Code{Status: 409, Name: "device_taken", Title: "Another resource claim has the device"}},
	{lookup.ErrNoJob, Code{Status: 404, Name: "no_job", Title: "No job has this id"}},
	{lookup.ErrNoAttempt, Code{Status: 404, Name: "no_attempt", Title: "No such attempt has ended",
		Hint: "the output of an attempt is kept when it ends"}},
	{dispatcher.ErrQueueClosed, Code{Status: 409, Name: "queue_closed", Title: "The queue takes no jobs now",
		Hint: "it drains or is offline; `divvy queue online` opens it", RetryIn: 30}},
	{dispatcher.ErrRequestOver, Code{Status: 409, Name: "request_over", Title: "All leases of this request id have ended",
		Hint: "pull with a new request id"}},
	{dispatcher.ErrRequestReused, Code{Status: 422, Name: "request_reused", Title: "This request id was used with another body",
		Hint: "pull with a new request id"}},
	{dispatcher.ErrUnavailable, Code{Status: 503, Name: "unavailable", Title: "It is not known whether this was done",
		Hint: "ask again; a pull with a request_id can be repeated without loss", RetryIn: 1}},
	{dispatcher.ErrRefused, Code{Status: 409, Name: "refused", Title: "This contradicts what is so by now; nothing was changed"}},
	{dispatcher.ErrStopping, Code{Status: 503, Name: "stopping", Title: "The daemon stops", RetryIn: 2}},
	{job.ErrInvalid, Invalid},
	{view.ErrNoTask, Code{Status: 404, Name: "no_task", Title: "No task has this id"}},
	{dispatcher.ErrNoTask, Code{Status: 404, Name: "no_task", Title: "No task has this id"}},
	{generator.ErrSiteChanged, Code{Status: 503, Name: "site_changed", Title: "The site has just changed", RetryIn: 1}},
	{judge.ErrState, Code{Status: 409, Name: "task_state", Title: "The task is in a state in which this cannot be done"}},
	{tags.ErrNoSite, Code{Status: 409, Name: "no_site", Title: "No site file has been applied yet, so there are no shares",
		Hint: "`divvy apply -f site.yml` applies one"}},
	{generator.ErrKeyReused, Code{Status: 422, Name: "key_reused", Title: "This Idempotency-Key was used with another body",
		Hint: "send another key, or the same body"}},
	{tags.ErrUntagged, Code{Status: 422, Name: "untagged", Title: "The task gets no share",
		Hint: "`divvy tags test -f task.yml` explains, rule by rule; share: in the task names one"}},
	{spec.ErrInvalid, Invalid},
	{site.ErrMoving, Code{Status: 503, Name: "moving", Title: "Live work moves first; the change is not in force yet",
		Hint: "send the same request again: it goes on", RetryIn: 1}},
	{site.ErrNoVersion, Code{Status: 404, Name: "no_version", Title: "No site version has this number"}},
	{site.ErrUnreadable, Code{Status: 409, Name: "unreadable_version", Title: "This divvy does not read a stored site version",
		Hint: "`divvy shares show --version` shows the file as it was written; a file that is applied takes its place"}},
	{site.ErrNoLater, Code{Status: 404, Name: "no_later", Title: "No later version has this number", Hint: "`divvy apply --list-later` lists them"}},
	{site.ErrLaterOver, Code{Status: 409, Name: "later_over", Title: "The later version does not wait any more"}},
	{site.ErrPast, Code{Status: 422, Name: "past", Title: "The time is not in the future"}},
	{site.ErrUnknownQueue, NoQueue},
	{site.ErrQueueState, Invalid},
	{site.ErrUnknownResource, NoResource},
	{site.ErrCapacity, Invalid},
	{report.ErrUnknown, Code{Status: 404, Name: "unknown_report", Title: "No report has this name", Hint: "`divvy report` lists them"}},
	{report.ErrBy, Invalid},
	{web.ErrNoPage, Code{Status: 404, Name: "no_page", Title: "There is no such page"}},
	{web.ErrQuery, Invalid},
	{web.ErrMeanwhile, Code{Status: 409, Name: "meanwhile", Title: "What the form was made of has changed meanwhile"}},
	{web.ErrUnauthorized, Unauthorized},
	{web.ErrForeign, Foreign},
	{web.ErrForm, Code{Status: 403, Name: "foreign_form", Title: "The form was not made by this page for this browser",
		Hint: "open the page again and send the form from there; cookies must be allowed"}},
	{web.ErrTooMany, Code{Status: 503, Name: "too_many_pages", Title: "Too many pages are open at this daemon", RetryIn: 10}},
}

// How PostgreSQL says that it does not take a text: SQLSTATEs.
const (
	CodeNotInEncoding  = "22021"
	CodeUntranslatable = "22P05"
)

// Of is the one way from an error to what the client sees.
func Of(err error) *wire.Problem {
	p := problemIn(err)
	if q := (web.OfQuery{}); errors.As(err, &q) {
		AsQuery(p)
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
			return New(k.Code, strings.TrimPrefix(err.Error(), tags.ErrUntagged.Error()+": ")) // its title says that
		}
	}
	switch code := pg.Code(err); {
	case code == CodeNotInEncoding || code == CodeUntranslatable:
		return New(Invalid, "a text of the request has the character U+0000, or bytes that are no UTF-8: the database does not take it")
	case errors.Is(err, context.Canceled):
		return New(Gone, "")
	case pg.IsUnavailable(err):
		return New(Database, "")
	case errors.Is(err, context.DeadlineExceeded):
		return New(Deadline, "")
	}
	return New(Internal, "") // what went wrong is the log's business
}

// detailed handles the errors that know the position of the fault.
func detailed(err error) *wire.Problem {
	var field *job.FieldError
	var task spec.Faults
	var file strict.Problems
	var offset *generator.OffsetError
	var refused *site.Refused
	var link web.WrongQuery
	switch {
	case errors.As(err, &link):
		p := New(Invalid, "")
		for _, w := range link {
			p.Errors = append(p.Errors, wire.Detail{Location: "query." + w.Name, Message: w.Message, Hint: w.Hint, Value: short(w.Value)})
		}
		return p
	case errors.As(err, &field):
		p := New(Invalid, "")
		p.Errors = []wire.Detail{{Location: "body." + field.Field, Message: "expected " + field.Want, Value: short(field.Value)}}
		return p
	case errors.As(err, &task):
		p := New(Invalid, "")
		for _, f := range task {
			p.Errors = append(p.Errors, wire.Detail{Location: "body." + f.Field, Message: f.Message, Hint: f.Hint})
		}
		return p
	case errors.As(err, &file):
		p := New(BadSite, "")
		for _, f := range file {
			p.Errors = append(p.Errors, wire.Detail{Location: f.Place(), Message: f.Message, Hint: f.Hint})
		}
		return p
	case errors.As(err, &refused):
		p := New(LiveWork, "")
		for _, o := range refused.Obstacles {
			p.Errors = append(p.Errors, wire.Detail{Location: cmp.Or(o.Share, o.Queue), Message: o.Message, Hint: o.Hint, Value: o.Live})
		}
		return p
	case errors.As(err, &offset):
		p := New(Offset, err.Error())
		p.Next = &offset.Want
		return p
	}
	return nil
}

// New is the problem of a code, with a time to come back after where the code has one.
func New(c Code, detail string) *wire.Problem {
	p := &wire.Problem{Title: c.Title, Status: c.Status, Code: c.Name, Detail: detail, Hint: c.Hint}
	if c.RetryIn > 0 {
		p.RetryAfterS = c.RetryIn + rand.IntN(c.RetryIn+1) // jitter: pilots that failed together must not return together
	}
	return p
}

// noBody is what huma says of a missing body, with the status of one that is not JSON.
const noBody = "request body is required"

// OfHuma turns huma's own findings (validation, body limits) into the problem that the rest of the API speaks.
func OfHuma(e *huma.ErrorModel) *wire.Problem {
	if e.Detail == noBody { // a site file is no JSON
		return New(NoBody, "")
	}
	var c Code
	switch e.Status {
	case 400:
		c = BadJSON
	case 408:
		c = SlowBody
	case 413:
		c = TooLarge
	case 415:
		c = MediaType
	case 422:
		c = Invalid
	default:
		c = Internal
		c.Status = e.Status
	}
	p := New(c, "")
	if len(e.Errors) == 0 {
		p.Detail = e.Detail
	}
	for _, d := range e.Errors {
		p.Errors = append(p.Errors, wire.Detail{Location: d.Location, Message: d.Message, Value: Echoed(d.Location, d.Value)})
	}
	return bounded(p)
}
