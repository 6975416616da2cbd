package access

import (
	"context"
	"crypto/x509"
	"fmt"
)

// Outside are credentials that others have made. nil lets nobody in.
type Outside struct {
	Certificates Certificates // nil: none are looked at
	Issuers      *Issuers     // nil: there are none
}

// ByToken is for whom a JSON web token stands; nil and an error: for nobody, and why.
func (o *Outside) ByToken(ctx context.Context, token string) (*Caller, error) {
	if o == nil || o.Issuers == nil {
		return nil, nil
	}
	return o.Issuers.Caller(ctx, token)
}

// ByCertificate is for whom the chain of a connection stands; nil and an error: for nobody, and why. Without a chain, or
// where no line says for whom any stands, there is no error.
func (o *Outside) ByCertificate(chain []*x509.Certificate) (*Caller, error) {
	if o == nil || o.Certificates == nil || len(chain) == 0 {
		return nil, nil
	}
	c, dn := o.Certificates.Caller(chain)
	if c == nil {
		return nil, fmt.Errorf("no line of tls_roles fits the certificate %s", dn)
	}
	return c, nil
}
