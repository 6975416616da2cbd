package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/divvyhq/divvy/internal/keys"
)

// renewBefore is how long before its end a token is renewed, for the way to the server and clocks that differ.
const renewBefore = 30 * time.Second

// Ended is the error of a login that is over.
type Ended struct {
	Server string
	At     time.Time
	Why    error // nil: it could never be renewed
}

func (e *Ended) Error() string {
	text := fmt.Sprintf("your login at %s ended at %s", e.Server, e.At.UTC().Format(time.RFC3339))
	if e.Why != nil {
		text += ": " + e.Why.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Ended) Unwrap() error { return e.Why }

// Of makes the login at a server of what the issuer gave: access says that the server takes the access token, not the ID token.
func (c Client) Of(server string, t Tokens, access bool) Login {
	l := Login{Server: server, Issuer: c.URL, ClientID: c.ID, Scopes: c.Scopes}
	l.take(t, access)
	return l
}

// take puts what an issuer gave into the login. A renewal may come without an ID token.
func (l *Login) take(t Tokens, access bool) {
	l.Access = access || t.ID == ""
	l.Token = t.ID
	if l.Access {
		l.Token = t.Access
	}
	l.Refresh = cmp.Or(t.Refresh, l.Refresh)
	l.Expires = expiry(l.Token, t.expires)
}

// good says whether the token is good for so long.
func (l *Login) good(left time.Duration) bool {
	return l.Expires.IsZero() || time.Until(l.Expires) > left
}

// Token returns the token of the login at a server, renewed if it is over; "": there is no login. A caller with less time than a
// renewal may take gets the token as it is.
func (k Kept) Token(ctx context.Context, server string) (string, error) {
	l, err := k.Get(server)
	switch {
	case l == nil || err != nil:
		return "", err
	case l.good(renewBefore) || hurried(ctx):
		return l.Token, nil
	}
	unlock, err := k.lock(ctx, server)
	if err != nil {
		return "", err
	}
	defer unlock()
	l, err = k.Get(server) // another command may have renewed it meanwhile, or ended it
	switch {
	case l == nil || err != nil:
		return "", err
	case l.good(renewBefore):
		return l.Token, nil
	}
	var away *Away
	err = l.renew(context.WithoutCancel(ctx))
	switch {
	case err == nil:
		return l.Token, k.write(*l)
	case l.good(0) && errors.As(err, &away):
		return l.Token, nil
	}
	return "", err
}

func hurried(ctx context.Context) bool {
	until, ok := ctx.Deadline()
	return ok && time.Until(until) < answerTime
}

// client is the one that the login was made with.
func (l *Login) client() (Client, error) {
	i, err := keys.NewIssuer(l.Issuer, l.ClientID, nil)
	return Client{i, l.ClientID, l.Scopes}, err
}

// renew asks the issuer for new tokens.
func (l *Login) renew(ctx context.Context) error {
	if l.Refresh == "" {
		return &Ended{Server: l.Server, At: l.Expires}
	}
	c, err := l.client()
	if err != nil {
		return err
	}
	conf, _, err := c.config(ctx)
	if err != nil {
		return err
	}
	t, err := conf.TokenSource(bounded(ctx), &oauth2.Token{RefreshToken: l.Refresh}).Token()
	var said *oauth2.RetrieveError
	switch {
	case errors.As(err, &said) && said.ErrorCode == "invalid_grant":
		return &Ended{l.Server, l.Expires, c.refusal(err)}
	case err != nil:
		return c.refusal(err)
	}
	l.take(tokensOf(t), l.Access)
	return nil
}

// Revoke tells the issuer that the login is over, where it wants to know (RFC 7009).
func (l *Login) Revoke(ctx context.Context) error {
	if l.Refresh == "" {
		return nil
	}
	c, err := l.client()
	if err != nil {
		return err
	}
	_, at, err := c.config(ctx)
	if err != nil || at.Revocation == "" {
		return err
	}
	form := url.Values{"token": {l.Refresh}, "token_type_hint": {"refresh_token"}, "client_id": {l.ClientID}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at.Revocation, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := (&http.Client{Timeout: answerTime}).Do(req)
	if err != nil {
		return &Away{c.URL, err}
	}
	_ = resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("issuer %s refuses to revoke the login: %s", c.URL, resp.Status)
	}
	return nil
}
