package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/api"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/keys"
)

// callers are who is let in.
type callers struct {
	tokens  *access.Store
	book    *access.Book
	outside *keys.Fresh[*access.Outside] // nil where no file names any credentials that others have made
}

// openAccess reads who is let in: the tokens of the file and of the table.
func (d *Daemon) openAccess(ctx context.Context) error {
	cfg := d.cfg.Access
	fixed, err := fileTokens(cfg.TokenFile, d.watch.hide)
	if err != nil {
		return err
	}
	d.callers.tokens = access.NewStore(d.pool)
	d.callers.book = access.NewBook(d.callers.tokens, access.Admins(fixed)...)
	if _, err := d.callers.book.Refresh(ctx); err != nil {
		return err
	}
	if cfg.TLS.Roles != "" || cfg.Issuers != "" {
		d.callers.outside = outsideOf(cfg, d.log)
		if err := d.callers.outside.First(); err != nil {
			return err
		}
	}
	if cfg.Closed() {
		return nil
	}
	if local, err := config.Loopback(d.cfg.Listen); err == nil && !local {
		d.log.Warn("everybody who reaches this port may do everything: --insecure, and no token is asked for", "listen", d.Addr())
	}
	return nil
}

// outsideOf is whom certificates and JSON web tokens stand for, as the files say it now.
func outsideOf(cfg config.Access, log *slog.Logger) *keys.Fresh[*access.Outside] {
	return &keys.Fresh[*access.Outside]{Name: "issuers and roles of certificates", Log: log,
		Files: func() []string {
			return slices.DeleteFunc([]string{cfg.TLS.Roles, cfg.Issuers}, func(f string) bool { return f == "" })
		},
		Read: func() (*access.Outside, error) {
			o := &access.Outside{}
			return o, errors.Join(
				readCredentials("tls_roles", cfg.TLS.Roles, access.ReadCertificates, &o.Certificates),
				readCredentials("issuers", cfg.Issuers, access.ReadIssuers(log), &o.Issuers),
			)
		}}
}

// credentials are those that others have made; nil where no file names any.
func (c *callers) credentials() func() *access.Outside {
	if c.outside == nil {
		return nil
	}
	return c.outside.Get
}

// fileTokens are those of token_file; their texts are kept out of the log.
func fileTokens(file string, hide func(string)) ([]api.Token, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("token file: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		hide(strings.TrimSpace(line))
	}
	return api.ReadTokens(bytes.NewReader(text))
}
