package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/divvyhq/divvy/api"
	"github.com/divvyhq/divvy/internal/access"
)

// openAccess reads who is let in: the tokens of the file and of the table.
func (d *daemon) openAccess(ctx context.Context) error {
	fixed, err := d.fileTokens()
	if err != nil {
		return err
	}
	d.tokens = access.NewStore(d.pool)
	d.book = access.NewBook(d.tokens, access.Admins(fixed)...)
	if _, err := d.book.Refresh(ctx); err != nil {
		return err
	}
	if d.cfg.closed() {
		return nil
	}
	if local, err := loopback(d.cfg.Listen); err == nil && !local {
		d.log.Warn("everybody who reaches this port may do everything: --insecure, and no token is asked for", "listen", d.Addr())
	}
	return nil
}

// fileTokens are those of token_file; their texts are kept out of the log.
func (d *daemon) fileTokens() ([]api.Token, error) {
	if d.cfg.TokenFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(d.cfg.TokenFile)
	if err != nil {
		return nil, fmt.Errorf("token file: %w", err)
	}
	if d.lines != nil {
		for line := range strings.Lines(string(text)) {
			d.lines.Hide(strings.TrimSpace(line))
		}
	}
	return api.ReadTokens(bytes.NewReader(text))
}

// purgeAudit drops what is older than keep_audit.
func (d *daemon) purgeAudit(ctx context.Context) (int, error) {
	return d.tokens.PurgeAudit(ctx, d.cfg.KeepAudit)
}
