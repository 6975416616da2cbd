package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/api"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/keys"
)

// openAccess reads who is let in: the tokens of the file and of the table.
func (d *Daemon) openAccess(ctx context.Context) error {
	fixed, err := d.fileTokens()
	if err != nil {
		return err
	}
	d.tokens = access.NewStore(d.pool)
	d.book = access.NewBook(d.tokens, access.Admins(fixed)...)
	if _, err := d.book.Refresh(ctx); err != nil {
		return err
	}
	d.outside = &keys.Fresh[*access.Outside]{Name: "issuers and roles of certificates", Log: d.log, Read: d.readOutside,
		Files: func() []string {
			return slices.DeleteFunc([]string{d.cfg.Access.TLS.Roles, d.cfg.Access.Issuers}, func(f string) bool { return f == "" })
		}}
	if err := d.outside.First(); err != nil {
		return err
	}
	if d.cfg.Access.Closed() {
		return nil
	}
	if local, err := config.Loopback(d.cfg.Listen); err == nil && !local {
		d.log.Warn("everybody who reaches this port may do everything: --insecure, and no token is asked for", "listen", d.Addr())
	}
	return nil
}

// readOutside is whom certificates and JSON web tokens stand for, as the files say it now.
func (d *Daemon) readOutside() (*access.Outside, error) {
	o := &access.Outside{}
	return o, errors.Join(
		readCredentials("tls_roles", d.cfg.Access.TLS.Roles, access.ReadCertificates, &o.Certificates),
		readCredentials("issuers", d.cfg.Access.Issuers, access.ReadIssuers(d.log), &o.Issuers),
	)
}

// credentials are those that others have made; nil where no file names any.
func (d *Daemon) credentials() func() *access.Outside {
	if d.cfg.Access.TLS.Roles == "" && d.cfg.Access.Issuers == "" {
		return nil
	}
	return d.outside.Get
}

// withTLS is a listener with TLS where the configuration has a certificate.
func withTLS(key string, l net.Listener, files keys.TLSFiles) (net.Listener, error) {
	if files.Cert == "" {
		return l, nil
	}
	secure, err := files.Config()
	if err != nil {
		return l, fmt.Errorf("%s: %w", key, err)
	}
	return tls.NewListener(l, secure), nil
}

// fileTokens are those of token_file; their texts are kept out of the log.
func (d *Daemon) fileTokens() ([]api.Token, error) {
	if d.cfg.Access.TokenFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(d.cfg.Access.TokenFile)
	if err != nil {
		return nil, fmt.Errorf("token file: %w", err)
	}
	if d.watch.lines != nil {
		for line := range strings.Lines(string(text)) {
			d.watch.lines.Hide(strings.TrimSpace(line))
		}
	}
	return api.ReadTokens(bytes.NewReader(text))
}

// purgeAudit drops what is older than keep_audit.
func (d *Daemon) purgeAudit(ctx context.Context) (int, error) {
	return d.tokens.PurgeAudit(ctx, d.cfg.Keep.Audit)
}
