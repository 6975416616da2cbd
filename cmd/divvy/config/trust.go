package config

import (
	"crypto/tls"
	"fmt"

	"github.com/divvyhq/divvy/internal/keys"
)

// Trust is what certificates of other daemons must be, as daemons and divvy doctor ask for it.
func (c Config) Trust() (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.TLSPeerName}
	if c.TLSCA == "" {
		return t, nil
	}
	var err error
	if t.RootCAs, err = keys.ReadCAs(c.TLSCA); err != nil {
		return nil, fmt.Errorf("tls_ca: %w", err)
	}
	return t, nil
}

// FreshTrust is Trust that follows the files of tls_ca.
func (c Config) FreshTrust() *keys.Fresh[*tls.Config] {
	return &keys.Fresh[*tls.Config]{Name: "tls_ca", Read: c.Trust, Files: func() []string { return keys.FilesOf(c.TLSCA) }}
}
