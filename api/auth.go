package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/api/origin"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/keys"
)

// Token is the SHA-256 of a bearer token. The API never keeps the token itself.
type Token = access.Hash

// minToken is the shortest token that a file may hold; shorter ones are typing errors or guessable.
const minToken = 16

// ReadTokens reads a token file: one token a line, empty lines and lines that begin with # left out.
func ReadTokens(r io.Reader) ([]Token, error) {
	var tokens []Token
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		t := strings.TrimSpace(lines.Text())
		switch {
		case t == "" || strings.HasPrefix(t, "#"):
		case len(t) < minToken:
			return nil, fmt.Errorf("token file line %d: a token has at least %d characters, this one has %d", n, minToken, len(t))
		case strings.ContainsAny(t, " \t"):
			return nil, fmt.Errorf("token file line %d: a token has no blanks", n)
		default:
			tokens = append(tokens, access.HashOf(t))
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("token file: %w", err)
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("token file: no token in it; write one a line, for instance of `openssl rand -hex 24`")
	}
	return tokens, nil
}

// anybody is who calls a daemon that asks for no token.
var anybody = &access.Caller{Name: "anybody", Role: access.Admin}

// caller is who makes a request: by a token of ours, else by a JSON web token, else by a client certificate. nil: nobody who is
// let in; the error says why, if there is a credential at all.
func (s *server) caller(r *http.Request) (*access.Caller, error) {
	return s.callerBy(r.Context(), credentialOf(r))
}

// callerBy is caller of what a request has shown.
func (s *server) callerBy(ctx context.Context, by credential) (*access.Caller, error) {
	var outside *access.Outside
	if s.Outside != nil {
		outside = s.Outside()
	}
	var why error
	if token, ok := bearerIn(by.authorization); ok {
		if c := s.book.Find(token); c != nil {
			return c, nil
		}
		if why = s.book.Expired(token); why == nil {
			c, err := outside.ByToken(ctx, token)
			if c != nil {
				return c, nil
			}
			why = err
		}
	}
	c, err := outside.ByCertificate(by.chain)
	if c != nil {
		return c, nil
	}
	if why == nil {
		why = err
	}
	if s.closed {
		return nil, why
	}
	return anybody, nil
}

// bearerIn is the token of a header Authorization.
func bearerIn(authorization string) (token string, ok bool) {
	scheme, token, _ := strings.Cut(authorization, " ")
	return strings.TrimSpace(token), strings.EqualFold(scheme, "Bearer")
}

// ours is for whom a token of this site stands; nil: it is none.
func (s *server) ours(authorization string) *access.Caller {
	if token, ok := bearerIn(authorization); ok {
		return s.book.Find(token)
	}
	return nil
}

// callerOrNil is caller for the page, which has whom it does not know log in.
func (s *server) callerOrNil(r *http.Request) *access.Caller {
	c, _ := s.caller(r)
	return c
}

// unknown answers somebody who is not let in.
func (s *server) unknown(w http.ResponseWriter, why error) {
	if unchecked := (keys.Unchecked{}); errors.As(why, &unchecked) {
		s.fail(w, newProblem(codeUnchecked, why.Error()))
		return
	}
	detail := ""
	if why != nil {
		detail = why.Error()
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="divvy"`)
	s.fail(w, newProblem(codeUnauthorized, detail))
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
		case !s.closed && origin.Rebound(r):
			s.fail(w, newProblem(codeForeign, fmt.Sprintf("host %q on a loopback address", r.Host)))
		case r.Method != http.MethodGet && origins.Check(r) != nil:
			s.fail(w, newProblem(codeForeign, "the request comes from a page of another origin"))
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
