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

	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/keys"
)

// callers are who is let in.
type callers struct {
	tokens  *access.Store
	book    *access.Book
	fixed   *keys.Fresh[[]access.Fixed]  // the tokens of token_file
	outside *keys.Fresh[*access.Outside] // nil where no file names any credentials that others have made
}

// openAccess reads who is let in: the tokens of the file and of the table.
func (d *Daemon) openAccess(ctx context.Context) error {
	cfg := d.cfg.Access
	d.callers.fixed = &keys.Fresh[[]access.Fixed]{Name: "tokens", Log: d.log, Files: named(cfg.TokenFile),
		Read: func() ([]access.Fixed, error) { return fileTokens(cfg.TokenFile, d.watch.hide) }}
	if err := d.callers.fixed.First(); err != nil {
		return err
	}
	d.callers.tokens = access.NewStore(d.pool)
	d.callers.book = access.NewBook(d.callers.tokens)
	if _, err := d.callers.refresh(ctx); err != nil {
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

// outsideOf returns the callers behind certificates and JSON web tokens, as the files are now.
func outsideOf(cfg config.Access, log *slog.Logger) *keys.Fresh[*access.Outside] {
	return &keys.Fresh[*access.Outside]{Name: "issuers and roles of certificates", Log: log,
		Files: named(cfg.TLS.Roles, cfg.Issuers),
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

// named are the files that keys name, for a keys.Fresh.
func named(files ...string) func() []string {
	return func() []string { return slices.DeleteFunc(slices.Clone(files), func(f string) bool { return f == "" }) }
}

// refresh reads the tokens that are let in now.
func (c *callers) refresh(ctx context.Context) (int, error) {
	c.book.Fix(c.fixed.Get())
	return c.book.Refresh(ctx)
}

// fileTokens are those of token_file; their texts are kept out of the log.
func fileTokens(file string, hide func(string)) (all []access.Fixed, err error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("token_file: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 0 {
			hide(words[0])
		}
	}
	if all, err = access.ReadTokens(file, bytes.NewReader(text)); err != nil {
		return nil, fmt.Errorf("token_file: %w", err)
	}
	return all, nil
}
