package login

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"

	"golang.org/x/oauth2"
)

// Code is a login by a browser, which the issuer sends back with a code.
type Code struct {
	Client
	Back   string // where it sends the browser; the issuer knows this address
	Secret string // of the browser, for this login
}

// NewSecret makes the secret of one login.
func NewSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// part makes one of the values that a login needs: none of them tells another.
func (c Code) part(name string) string {
	m := hmac.New(sha256.New, []byte(c.Secret))
	m.Write([]byte("divvy login " + name))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// Session is what the browser keeps beside its token.
func (c Code) Session() string { return c.part("session") }

// Nonce returns the nonce in the token of a session.
func Nonce(session string) string {
	sum := sha256.Sum256([]byte(session))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// URL is where the browser goes.
func (c Code) URL(ctx context.Context) (string, error) {
	conf, at, err := c.config(ctx)
	if err != nil {
		return "", err
	}
	if at.AuthURL == "" {
		return "", fmt.Errorf("issuer %s has no login for browsers: it publishes no authorization_endpoint", c.Issuer.URL)
	}
	conf.RedirectURL = c.Back
	return conf.AuthCodeURL(c.part("state"), oauth2.S256ChallengeOption(c.part("verifier")), oauth2.SetAuthURLParam("nonce", Nonce(c.Session()))), nil
}

// ErrState is the error of a code that no login of this browser waits for.
var ErrState = errors.New("this login was not begun in this browser, or too long ago")

// Token returns the ID token for what the browser brings back. It is not checked yet.
func (c Code) Token(ctx context.Context, state, code string) (string, error) {
	if !hmac.Equal([]byte(state), []byte(c.part("state"))) {
		return "", ErrState
	}
	conf, _, err := c.config(ctx)
	if err != nil {
		return "", err
	}
	conf.RedirectURL = c.Back
	t, err := conf.Exchange(bounded(ctx), code, oauth2.VerifierOption(c.part("verifier")))
	if err != nil {
		return "", c.refusal(err)
	}
	if got := tokensOf(t); got.ID != "" {
		return got.ID, nil
	}
	return "", fmt.Errorf("issuer %s gives no ID token", c.Issuer.URL)
}
