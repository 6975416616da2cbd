package edge

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/api/origin"
	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/keys"
)

// caller returns who makes a request, or nil for a caller that is not admitted. The error says why, if there is a
// credential at all.
func (e *Edge) caller(r *http.Request) (*access.Caller, error) {
	return e.entrance.Caller(r.Context(), access.ShownBy(r))
}

// CallerOrNil is caller for the page, which lets unknown callers log in.
func (e *Edge) CallerOrNil(r *http.Request) *access.Caller {
	c, _ := e.caller(r)
	return c
}

// Unknown answers a caller that is not admitted.
func (e *Edge) Unknown(w http.ResponseWriter, why error) {
	if unchecked := (keys.Unchecked{}); errors.As(why, &unchecked) {
		e.Fail(w, problem.New(problem.Unchecked, why.Error()))
		return
	}
	detail := ""
	if why != nil {
		detail = why.Error()
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="divvy"`)
	e.Fail(w, problem.New(problem.Unauthorized, detail))
}

// Guard lets a request through that has a token with the right to its route, and tells the handlers whose it is. On a daemon
// that asks for no token it keeps out what a browser could be made to send by a foreign page.
func (e *Edge) Guard(next http.Handler) http.Handler {
	return e.guarded(func(r *http.Request) *Right { return RightOf(r.Method, chi.RouteContext(r.Context()).RoutePattern()) },
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r.WithContext(access.With(r.Context(), CallerOf(w))))
		}))
}

// Hot is the edge and the guard around a handler that pilots POST to, which asks callerOf: a context for each request would be
// another copy of it.
func (e *Edge) Hot(path string, next http.Handler) http.Handler {
	need := RightOf(http.MethodPost, path)
	return e.aroundOf(e.metrics.series(http.MethodPost, path), e.guarded(func(*http.Request) *Right { return need }, next))
}

func (e *Edge) guarded(need func(*http.Request) *Right, next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, why := e.caller(r)
		switch {
		case c == nil:
			e.Unknown(w, why)
		case e.entrance.Open && origin.Rebound(r):
			e.Fail(w, problem.New(problem.Foreign, fmt.Sprintf("host %q on a loopback address", r.Host)))
		case r.Method != http.MethodGet && origins.Check(r) != nil:
			e.Fail(w, problem.New(problem.Foreign, "the request comes from a page of another origin"))
		default:
			if n := need(r); !n.Has(c) {
				e.Fail(w, n.Refuse(c))
				return
			} else if err := e.Admit(c, n); err != nil {
				e.Fail(w, err)
				return
			}
			if x, ok := w.(*Exchange); ok {
				x.Caller = c
			}
			next.ServeHTTP(w, r)
		}
	})
}

// CallerOf is who makes the request of a guarded handler.
func CallerOf(w http.ResponseWriter) *access.Caller {
	if x, ok := w.(*Exchange); ok && x.Caller != nil {
		return x.Caller
	}
	return &access.Caller{Name: "nobody"} // not behind the edge: a mistake, and no rights
}
