package access

import (
	"context"
	"crypto/x509"
)

// Outside knows credentials that others have issued. nil admits no one.
type Outside struct {
	Certificates Certificates // nil: none are looked at
	Issuers      *Issuers     // nil: there are none
}

// ByToken returns the caller that a JSON web token stands for, or an error that says why it stands for none.
func (o *Outside) ByToken(ctx context.Context, token string, as As) (*Caller, error) {
	if o == nil || o.Issuers == nil {
		return nil, nil
	}
	return o.Issuers.caller(ctx, token, as)
}

// BySession returns the caller of a browser that logged in with a JSON web token of this nonce, or an error that says why there is none.
func (o *Outside) BySession(ctx context.Context, token, nonce string) (*Caller, error) {
	if o == nil || o.Issuers == nil {
		return nil, errForeign
	}
	return o.Issuers.session(ctx, token, nonce)
}

// Login returns where people log in; nil: nowhere.
func (o *Outside) Login() *Login {
	if o == nil || o.Issuers == nil {
		return nil
	}
	return o.Issuers.login
}

// ByCertificate returns the caller that the chain of a connection stands for, or an error that says why it stands for none.
// Without a chain, or without lines, there is no error.
func (o *Outside) ByCertificate(chain []*x509.Certificate, as As) (*Caller, error) {
	if o == nil || o.Certificates == nil || len(chain) == 0 {
		return nil, nil
	}
	return o.Certificates.caller(chain, as)
}
