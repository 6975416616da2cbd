package access

import (
	"context"
	"crypto/x509"
	"net/http"
	"strings"
)

// Shown is what a request shows of who makes it.
type Shown struct {
	Authorization string // the header
	Chain         []*x509.Certificate
	As
}

// ShownBy reads it from a request to the native API.
func ShownBy(r *http.Request) Shown {
	s := Shown{Authorization: r.Header.Get("Authorization")}
	if r.TLS != nil {
		s.Chain = r.TLS.PeerCertificates
	}
	return s
}

// Entrance finds callers by their credentials. It is safe for concurrent use.
type Entrance struct {
	Book    *Book
	Outside func() *Outside // nil: certificates and JSON web tokens are not accepted
	Open    bool            // a request without a good credential is let in too, as Anybody
}

// Caller returns who makes a request: by a token of ours, else by a JSON web token, else by a client certificate. nil: nobody who
// is let in; the error says why, if there is a credential at all.
func (e Entrance) Caller(ctx context.Context, s Shown) (*Caller, error) {
	var outside *Outside
	if e.Outside != nil {
		outside = e.Outside()
	}
	c, why := e.byToken(ctx, outside, s)
	if c == nil {
		var err error
		if c, err = outside.ByCertificate(s.Chain, s.As); why == nil {
			why = err
		}
	}
	switch {
	case c != nil:
		return c, nil
	case !e.Open:
		return nil, why
	case s.Panda:
		return Anybody.as(s.As)
	}
	return Anybody, nil
}

func (e Entrance) byToken(ctx context.Context, outside *Outside, s Shown) (*Caller, error) {
	token, ok := bearerIn(s.Authorization)
	if !ok {
		return nil, nil
	}
	if c := e.Book.Find(token); c != nil {
		return c.as(s.As)
	}
	if err := e.Book.Expired(token); err != nil {
		return nil, err
	}
	return outside.ByToken(ctx, token, s.As)
}

// Ours returns the caller of a token of this site; nil: it is none.
func (e Entrance) Ours(authorization string) *Caller {
	if token, ok := bearerIn(authorization); ok {
		return e.Book.Find(token)
	}
	return nil
}

func bearerIn(authorization string) (token string, ok bool) {
	scheme, token, _ := strings.Cut(authorization, " ")
	return strings.TrimSpace(token), strings.EqualFold(scheme, "Bearer")
}
