package keys

import (
	"crypto/tls"
	"fmt"
)

// ClientFiles names the files of a TLS client: the CAs of daemons (empty: the system's), and the client's certificate
// with its key, if any.
type ClientFiles struct{ CA, Cert, Key string }

// Config reads the files; it returns nil if none is named. A changed certificate is read again and used by later
// connections.
func (f ClientFiles) Config() (*tls.Config, error) {
	if f == (ClientFiles{}) {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CA != "" {
		var err error
		if c.RootCAs, err = ReadCAs(f.CA); err != nil {
			return nil, fmt.Errorf("CAs of the daemon: %w", err)
		}
	}
	if f.Cert == "" {
		return c, nil
	}
	own := &Fresh[*tls.Certificate]{Files: func() []string { return []string{f.Cert, f.Key} }, Read: func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, fmt.Errorf("certificate %s with key %s: %w", f.Cert, f.Key, err)
		}
		return &pair, nil
	}}
	if err := own.First(); err != nil {
		return nil, err
	}
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own.Get(), nil }
	return c, nil
}
