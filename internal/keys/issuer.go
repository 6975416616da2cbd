package keys

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Issuer is one whose JSON web tokens are good for some audiences.
type Issuer struct {
	URL       string
	audiences []string

	client  *http.Client
	fetched *fetcher
	mu      sync.Mutex
	says    *published // nil until the issuer was asked for the first time
	asked   time.Time
}

// published is what an issuer says of itself, and what checks its tokens by that.
type published struct {
	Endpoints
	tokens, sessions *oidc.IDTokenVerifier // sessions may be older than their tokens are good for
}

// Endpoints are where an issuer lets people log in.
type Endpoints struct {
	oauth2.Endpoint
	Revocation string   // where a token is given back; "": nowhere
	Scopes     []string // that it knows; none: it does not say
}

// Bounds of what an issuer is given.
const (
	skew       = time.Minute      // that its clock may be off
	askAgain   = 10 * time.Minute // keys that it took back are good for so long at most
	askAtMost  = 10 * time.Second // between two questions, whatever tokens come
	answerTime = 10 * time.Second
)

// algorithms are those with a public key.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}

// NewIssuer makes an issuer of its address and the audiences of tokens for this daemon, with commas. It is asked for nothing
// before a token comes. log hears when it does not answer; nil: nobody.
func NewIssuer(address, audiences string, log *slog.Logger) (*Issuer, error) {
	i := &Issuer{URL: address, audiences: strings.Split(audiences, ",")}
	if err := i.checkAddress(); err != nil {
		return nil, err
	}
	if slices.Contains(i.audiences, "") {
		return nil, errors.New("an audience has no name")
	}
	i.fetched = &fetcher{log: log, of: map[string]*answerKept{}}
	i.client = &http.Client{Transport: i.fetched, Timeout: answerTime}
	return i, nil
}

// checkAddress refuses addresses that others on the network could answer for.
func (i *Issuer) checkAddress() error {
	u, err := url.Parse(i.URL)
	if err == nil && u.Hostname() != "" && u.User == nil && u.RawQuery == "" && safe(u) {
		return nil
	}
	return fmt.Errorf("issuer %q is not an address such as https://iam.example.org/; http is for loopback", i.URL)
}

// safe says whether nobody between here and an address could answer for it.
func safe(u *url.URL) bool {
	host := u.Hostname()
	at, _ := netip.ParseAddr(host)
	return u.Scheme == "https" || u.Scheme == "http" && (at.IsLoopback() || host == "localhost")
}

// Is says whether an address is the issuer's; a slash at the end makes no difference, as some put one and some do not.
func (i *Issuer) Is(address string) bool {
	return strings.TrimSuffix(i.URL, "/") == strings.TrimSuffix(address, "/")
}

// Audiences are those that its tokens are good for.
func (i *Issuer) Audiences() []string { return i.audiences }

// IssuerIn reads out of a JSON web token who says to have made it; false for what is none. It is not checked.
func IssuerIn(token string) (string, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	var c struct {
		Issuer string `json:"iss"`
	}
	if err != nil || json.Unmarshal(payload, &c) != nil {
		return "", false
	}
	return c.Issuer, true
}

// Unchecked is the error for a token that cannot be checked now, since its issuer does not answer.
type Unchecked struct{ Issuer string }

func (e Unchecked) Error() string {
	return "the token cannot be checked now: its issuer " + e.Issuer + " does not answer; try again"
}

// Proof is a token that was verified.
type Proof struct {
	Subject  string
	ClientID string // the client that got it; "": the token does not say
	Expires  time.Time
	token    *oidc.IDToken
}

// Claims reads all that the token says.
func (p Proof) Claims(into any) error { return p.token.Claims(into) }

// SessionLasts is how long a login of a browser lasts: until so long after its token was made.
const SessionLasts = 12 * time.Hour

// Verify checks a token of the issuer. Its error says in words why it is not good, and nothing of what is in it but the
// subject of one that is signed; Unchecked: nobody knows.
func (i *Issuer) Verify(ctx context.Context, token string) (Proof, error) {
	return i.verify(ctx, token, func(p *published) *oidc.IDTokenVerifier { return p.tokens })
}

// VerifySession checks the token that a browser logged in with. It is good for SessionLasts, and only beside what its nonce was made
// of, which the browser alone has: one that was found somewhere opens no page.
func (i *Issuer) VerifySession(ctx context.Context, token, nonce string) (Proof, error) {
	p, err := i.verify(ctx, token, func(p *published) *oidc.IDTokenVerifier { return p.sessions })
	if err != nil {
		return Proof{}, err
	}
	if subtle.ConstantTimeCompare([]byte(p.token.Nonce), []byte(nonce)) != 1 {
		return Proof{}, errors.New("the token is of another login: its nonce differs")
	}
	p.Expires = p.token.IssuedAt.Add(SessionLasts)
	if left := time.Until(p.Expires); left <= 0 || left > SessionLasts+skew {
		return Proof{}, fmt.Errorf("the login is over, or not yet: its token was made at %s", p.token.IssuedAt.UTC().Format(time.RFC3339))
	}
	return p, nil
}

func (i *Issuer) verify(ctx context.Context, token string, with func(*published) *oidc.IDTokenVerifier) (Proof, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	says, err := i.published(ctx)
	if err != nil {
		return Proof{}, err
	}
	good, err := with(says).Verify(ctx, token)
	if err != nil {
		return Proof{}, i.refusal(err)
	}
	if !i.Is(good.Issuer) {
		return Proof{}, fmt.Errorf("the token is of %q", good.Issuer)
	}
	p := Proof{Subject: good.Subject, Expires: good.Expiry, token: good}
	var said struct {
		ClientID any `json:"client_id"`
	}
	if err := good.Claims(&said); err != nil {
		return Proof{}, errors.New("the token's claims cannot be read")
	}
	p.ClientID, _ = said.ClientID.(string)
	audience := good.Audience
	if len(audience) == 0 { // without an audience, the client that got it counts instead
		audience = []string{p.ClientID, good.Subject}
	}
	if !slices.ContainsFunc(audience, func(a string) bool { return slices.Contains(i.audiences, a) }) {
		return Proof{}, fmt.Errorf("the token of %s is not for this server: its audience is %s", good.Subject, cmp.Or(strings.Join(good.Audience, " "), "no audience"))
	}
	return p, nil
}

// Endpoints says where people log in. The error is Unchecked if the issuer does not answer.
func (i *Issuer) Endpoints(ctx context.Context) (Endpoints, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	says, err := i.published(ctx)
	if err != nil {
		return Endpoints{}, err
	}
	for _, at := range []string{says.AuthURL, says.TokenURL, says.DeviceAuthURL, says.Revocation} {
		if u, err := url.Parse(at); err != nil || at != "" && !safe(u) {
			return Endpoints{}, fmt.Errorf("issuer %s names %q to log in at, which is not https", i.URL, at)
		}
	}
	return says.Endpoints, nil
}

// refusal says in words why a token is not good.
func (i *Issuer) refusal(err error) error {
	var over *oidc.TokenExpiredError
	switch {
	case errors.As(err, &over):
		return fmt.Errorf("the token has run out, at %s", over.Expiry.UTC().Format(time.RFC3339))
	case i.fetched.failing():
		return Unchecked{i.URL}
	}
	return errors.New("the token is not good: it is not signed by its issuer, or not for now")
}

// published is what the issuer says of itself. It is asked anew every now and then, by one request while the others go on with the
// answer of before, which stays where that fails.
func (i *Issuer) published(ctx context.Context) (*published, error) {
	i.mu.Lock()
	before, due := i.says, time.Since(i.asked) >= askAgain
	if before == nil {
		defer i.mu.Unlock()
		says, err := i.discover(ctx)
		if err == nil {
			i.says, i.asked = says, time.Now()
		}
		return says, err
	}
	if due {
		i.asked = time.Now()
	}
	i.mu.Unlock()
	if !due {
		return before, nil
	}
	says, err := i.discover(ctx)
	if err != nil {
		return before, nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.says = says
	return says, nil
}

// discover asks the issuer where its keys are, and where people log in.
func (i *Issuer) discover(ctx context.Context) (*published, error) {
	ctx = oidc.InsecureIssuerURLContext(oidc.ClientContext(ctx, i.client), i.URL) // checked here, but for the slash
	p, err := oidc.NewProvider(ctx, i.URL)
	if err != nil && i.fetched.failing() {
		return nil, Unchecked{i.URL}
	} else if err != nil {
		return nil, fmt.Errorf("the token's issuer is not as it should be: %w", err)
	}
	var said struct {
		Issuer     string   `json:"issuer"`
		Revocation string   `json:"revocation_endpoint"`
		Scopes     []string `json:"scopes_supported"`
	}
	if err := p.Claims(&said); err != nil || !i.Is(said.Issuer) {
		return nil, fmt.Errorf("the token's issuer is not as it should be: %s says that it is %q", i.URL, said.Issuer)
	}
	says := &published{Endpoints: Endpoints{p.Endpoint(), said.Revocation, said.Scopes}}
	says.AuthStyle = oauth2.AuthStyleInParams // its clients have no secret
	check := oidc.Config{SkipClientIDCheck: true, SkipIssuerCheck: true, SupportedSigningAlgs: algorithms,
		Now: func() time.Time { return time.Now().Add(-skew) }}
	says.tokens = p.Verifier(&check)
	lasting := check
	lasting.SkipExpiryCheck = true
	says.sessions = p.Verifier(&lasting)
	return says, nil
}

// AskAgain has the next token ask the issuer, however short ago that was, as a test's clock would.
func (i *Issuer) AskAgain() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked = i.asked.Add(-askAgain)
	i.fetched.askAgain()
}
