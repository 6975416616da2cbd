package config

import (
	"crypto/tls"
	"fmt"

	"github.com/divvyhq/divvy/internal/keys"
)

// Trust is what certificates of other daemons must be, as daemons and divvy doctor ask for it.
func (t TLS) Trust() (*tls.Config, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.PeerName}
	if t.CA == "" {
		return trust, nil
	}
	var err error
	if trust.RootCAs, err = keys.ReadCAs(t.CA); err != nil {
		return nil, fmt.Errorf("tls_ca: %w", err)
	}
	return trust, nil
}

// FreshTrust is Trust that follows the files of tls_ca.
func (t TLS) FreshTrust() *keys.Fresh[*tls.Config] {
	return &keys.Fresh[*tls.Config]{Name: "tls_ca", Read: t.Trust, Files: func() []string { return keys.FilesOf(t.CA) }}
}
