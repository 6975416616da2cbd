package login

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/divvyhq/divvy/internal/keys"
)

// Client is an issuer, and the client without a secret that people log in with there.
type Client struct {
	*keys.Issuer
	ID     string
	Scopes []string
}

// Tokens are what an issuer gives for a login.
type Tokens struct {
	ID      string // says who logged in; "": the issuer gives none
	Access  string
	Refresh string    // "": the login cannot be renewed
	expires time.Time // of Access; zero: the issuer does not say
}

// answerTime bounds one question to an issuer.
const answerTime = 10 * time.Second

// Away is the error of an issuer that does not answer: the same may succeed later.
type Away struct {
	Issuer string
	Err    error
}

func (e *Away) Error() string { return fmt.Sprintf("issuer %s does not answer: %v", e.Issuer, e.Err) }

// Unwrap returns the cause.
func (e *Away) Unwrap() error { return e.Err }

// config returns what oauth2 needs of the client, and all that the issuer says of itself.
func (c Client) config(ctx context.Context) (*oauth2.Config, keys.Endpoints, error) {
	at, err := c.Endpoints(ctx)
	switch {
	case errors.As(err, new(keys.Unchecked)):
		return nil, at, &Away{c.URL, errors.New("its openid-configuration cannot be read")}
	case err != nil:
		return nil, at, err
	}
	return &oauth2.Config{ClientID: c.ID, Scopes: c.Scopes, Endpoint: at.Endpoint}, at, nil
}

// bounded returns a context with which oauth2 waits for an issuer no longer than answerTime. A context with a client keeps it.
func bounded(ctx context.Context) context.Context {
	if ctx.Value(oauth2.HTTPClient) != nil {
		return ctx
	}
	return context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Timeout: answerTime})
}

// refusal is the error of a question to an issuer: Away if there was no answer, or one that says nothing about the login.
func (c Client) refusal(err error) error {
	var said *oauth2.RetrieveError
	switch {
	case !errors.As(err, &said), said.Response.StatusCode >= http.StatusInternalServerError, said.Response.StatusCode == http.StatusTooManyRequests:
		return &Away{c.URL, err}
	case said.ErrorCode == "":
		return fmt.Errorf("issuer %s refuses: %s", c.URL, said.Response.Status)
	}
	return fmt.Errorf("issuer %s refuses: %s", c.URL, strings.TrimSuffix(said.ErrorCode+": "+said.ErrorDescription, ": "))
}

func tokensOf(t *oauth2.Token) Tokens {
	id, _ := t.Extra("id_token").(string)
	return Tokens{ID: id, Access: t.AccessToken, Refresh: t.RefreshToken, expires: t.Expiry}
}

// expiry returns when a token ends: what a JSON web token says itself, else what was said of it.
func expiry(token string, otherwise time.Time) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return otherwise
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	var c struct {
		Expires float64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(payload, &c) != nil || c.Expires <= 0 {
		return otherwise
	}
	return time.Unix(int64(c.Expires), 0)
}

// lasting returns the scopes of a login that is renewed: some issuers want to be asked for that.
func lasting(scopes []string, known []string) []string {
	const scope = "offline_access"
	if slices.Contains(scopes, scope) || len(known) > 0 && !slices.Contains(known, scope) {
		return scopes
	}
	return append(slices.Clone(scopes), scope)
}
