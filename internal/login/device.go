package login

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/oauth2"
)

// Device is a login that has begun at a terminal: a person opens URL in any browser and enters Code there before Until.
type Device struct {
	URL, Code string
	Complete  string // URL with the code in it; "": the issuer has none
	Until     time.Time

	client Client
	conf   *oauth2.Config
	begun  *oauth2.DeviceAuthResponse
}

// codeLasts is for issuers that do not say how long a code is good.
const codeLasts = 10 * time.Minute

// Begin asks the issuer for a code.
func (c Client) Begin(ctx context.Context) (*Device, error) {
	conf, at, err := c.config(ctx)
	if err != nil {
		return nil, err
	}
	if at.DeviceAuthURL == "" {
		return nil, fmt.Errorf("issuer %s has no login for terminals: it publishes no device_authorization_endpoint", c.Issuer.URL)
	}
	conf.Scopes = lasting(conf.Scopes, at.Scopes)
	begun, err := conf.DeviceAuth(bounded(ctx))
	if err != nil {
		return nil, c.refusal(err)
	}
	if begun.DeviceCode == "" || begun.VerificationURI == "" {
		return nil, fmt.Errorf("issuer %s gives no code", c.Issuer.URL)
	}
	if begun.Expiry.IsZero() {
		begun.Expiry = time.Now().Add(codeLasts)
	}
	return &Device{URL: begun.VerificationURI, Code: begun.UserCode, Complete: begun.VerificationURIComplete, Until: begun.Expiry, client: c, conf: conf, begun: begun}, nil
}

// Wait polls the issuer, as often as it allows, until the person has logged in. While the issuer does not answer it goes on.
func (d *Device) Wait(ctx context.Context) (Tokens, error) {
	ctx = bounded(ctx)
	for {
		t, err := d.conf.DeviceAccessToken(ctx, d.begun) // waits before it asks
		if err == nil {
			return tokensOf(t), nil
		}
		if ctx.Err() != nil {
			return Tokens{}, ctx.Err()
		}
		var said *oauth2.RetrieveError
		_ = errors.As(err, &said)
		switch {
		case !time.Now().Before(d.begun.Expiry), said != nil && said.ErrorCode == "expired_token":
			return Tokens{}, fmt.Errorf("the code %s ended at %s before it was entered", d.Code, d.Until.UTC().Format(time.RFC3339))
		case said != nil && said.ErrorCode == "access_denied":
			return Tokens{}, fmt.Errorf("the login was denied at %s", d.client.Issuer.URL)
		}
		if refused := d.client.refusal(err); !errors.As(refused, new(*Away)) {
			return Tokens{}, refused
		}
	}
}
