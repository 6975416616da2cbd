package api

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

// caller returns who makes a request; nil: nobody who is let in, and the error says why, if there is a credential at all.
func (s *server) caller(r *http.Request) (*access.Caller, error) {
	return s.entrance.Caller(r.Context(), access.ShownBy(r))
}

// callerOrNil is caller for the page, which has whom it does not know log in.
func (s *server) callerOrNil(r *http.Request) *access.Caller {
	c, _ := s.caller(r)
	return c
}

// unknown answers somebody who is not let in.
func (s *server) unknown(w http.ResponseWriter, why error) {
	if unchecked := (keys.Unchecked{}); errors.As(why, &unchecked) {
		s.fail(w, problem.New(problem.Unchecked, why.Error()))
		return
	}
	detail := ""
	if why != nil {
		detail = why.Error()
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="divvy"`)
	s.fail(w, problem.New(problem.Unauthorized, detail))
}

// guard lets a request through that has a token with the right to its route, and tells the handlers whose it is. On a daemon
// that asks for no token it keeps out what a browser could be made to send by a foreign page.
func (s *server) guard(next http.Handler) http.Handler {
	return s.guarded(func(r *http.Request) *right { return rightOf(r.Method, chi.RouteContext(r.Context()).RoutePattern()) },
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r.WithContext(access.With(r.Context(), callerOf(w))))
		}))
}

// guardHot is guard for a hot route, whose handler asks callerOf: a context for each request would be another copy of it.
func (s *server) guardHot(method, path string, next http.Handler) http.Handler {
	need := rightOf(method, path)
	return s.guarded(func(*http.Request) *right { return need }, s.Relay.tellLeader(next))
}

func (s *server) guarded(need func(*http.Request) *right, next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, why := s.caller(r)
		switch {
		case c == nil:
			s.unknown(w, why)
		case !s.Closed && origin.Rebound(r):
			s.fail(w, problem.New(problem.Foreign, fmt.Sprintf("host %q on a loopback address", r.Host)))
		case r.Method != http.MethodGet && origins.Check(r) != nil:
			s.fail(w, problem.New(problem.Foreign, "the request comes from a page of another origin"))
		default:
			if n := need(r); !n.has(c) {
				s.fail(w, n.refuse(c))
				return
			} else if err := s.admit(c, n); err != nil {
				s.fail(w, err)
				return
			}
			if x, ok := w.(*exchange); ok {
				x.caller = c
			}
			next.ServeHTTP(w, r)
		}
	})
}

// callerOf is who makes the request of a guarded handler.
func callerOf(w http.ResponseWriter) *access.Caller {
	if x, ok := w.(*exchange); ok && x.caller != nil {
		return x.caller
	}
	return &access.Caller{Name: "nobody"} // not behind the edge: a mistake, and no rights
}
