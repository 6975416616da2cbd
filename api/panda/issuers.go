package panda

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// Issuer is a line of panda_issuers: whose JSON web tokens are good, for which audience, and for what origins.
type Issuer struct {
	url       string
	audiences []string
	origins   origins  // at least one
	robots    []string // clients whose tokens name no groups and may speak for all of them

	client  *http.Client
	fetched *fetcher
	mu      sync.Mutex
	tokens  *oidc.IDTokenVerifier // nil until the issuer was asked for the first time
	asked   time.Time
}

// Issuers are asked by the address in the token.
type Issuers []*Issuer

// Bounds of what an issuer is given.
const (
	skew       = time.Minute      // that its clock may be off
	askAgain   = 10 * time.Minute // keys that it took back are good for so long at most
	askAtMost  = 10 * time.Second // between two questions, whatever tokens come
	answerTime = 10 * time.Second
)

// algorithms are those with a public key.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}

// robotWord is in front of clients in panda_issuers.
const robotWord = "robot:"

// ReadIssuers makes what reads a panda_issuers file: the address of an issuer, the audience of tokens for this daemon (several
// with commas), and the origins that they may speak for, among them robot:<client>. No issuer is asked for anything before a
// token comes.
func ReadIssuers(log *slog.Logger) func(name string, r io.Reader) (Issuers, error) {
	return func(name string, r io.Reader) (Issuers, error) {
		var all Issuers
		err := eachLine(name, r, func(_ int, line string) error {
			i, err := issuerOf(strings.Fields(line), log)
			if err == nil && all.called(i.url) != nil {
				err = fmt.Errorf("issuer %s stands in a line above", i.url)
			}
			all = append(all, i)
			return err
		})
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("%s: no issuer in it; write one a line: https://iam.example.org/ audience vo vo.*", name)
		}
		return all, err
	}
}

func issuerOf(words []string, log *slog.Logger) (*Issuer, error) {
	if len(words) < 3 {
		return nil, fmt.Errorf("expected an issuer, an audience and at least one origin, got %d words", len(words))
	}
	i := &Issuer{url: words[0], audiences: strings.Split(words[1], ",")}
	if err := i.checkAddress(); err != nil {
		return nil, err
	}
	var globs []string
	for _, w := range words[2:] {
		if client, robot := strings.CutPrefix(w, robotWord); robot {
			i.robots = append(i.robots, client)
			continue
		}
		globs = append(globs, w)
	}
	if slices.Contains(i.audiences, "") || slices.Contains(i.robots, "") {
		return nil, errors.New("an audience or a robot has no name")
	}
	if len(globs) == 0 {
		return nil, errors.New("expected at least one origin, such as atlas or atlas.*: it bounds what the issuer can vouch for")
	}
	var err error
	i.origins, err = readOrigins(globs)
	i.fetched = &fetcher{log: log, of: map[string]*answerKept{}}
	i.client = &http.Client{Transport: i.fetched, Timeout: answerTime}
	return i, err
}

// checkAddress refuses addresses that others on the network could answer for.
func (i *Issuer) checkAddress() error {
	u, err := url.Parse(i.url)
	if err == nil && u.Host != "" && u.User == nil && u.RawQuery == "" {
		host, _, splitErr := net.SplitHostPort(u.Host)
		if splitErr != nil {
			host = u.Host
		}
		at, _ := netip.ParseAddr(strings.Trim(host, "[]"))
		if u.Scheme == "https" || u.Scheme == "http" && (at.IsLoopback() || host == "localhost") {
			return nil
		}
	}
	return fmt.Errorf("issuer %q is not an address such as https://iam.example.org/; http is for loopback", i.url)
}

// called finds the issuer with an address; a slash at the end makes no difference, as some put one and some do not.
func (is Issuers) called(address string) *Issuer {
	for _, i := range is {
		if strings.TrimSuffix(i.url, "/") == strings.TrimSuffix(address, "/") {
			return i
		}
	}
	return nil
}

// issuerIn reads out of a JSON web token who says to have made it; false for what is none. It is not checked.
func issuerIn(token string) (string, bool) {
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

// errUnchecked is for a token that nobody could look into now: its issuer does not answer.
type errUnchecked struct{ issuer string }

func (e errUnchecked) Error() string {
	return "the token cannot be checked now: its issuer " + e.issuer + " does not answer; try again"
}

// check verifies a token, and tells whose it is and what origins it may speak for: at least one.
func (is Issuers) check(ctx context.Context, token string) (name string, _ origins, _ error) {
	address, isToken := issuerIn(token)
	if !isToken {
		return "", nil, errUnknownToken
	}
	i := is.called(address)
	if i == nil {
		return "", nil, fmt.Errorf("the token's issuer %q is not in panda_issuers", cut(address, maxAddress))
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	verifier, err := i.verifier(ctx)
	if err != nil && i.fetched.failing() {
		return "", nil, errUnchecked{i.url}
	} else if err != nil {
		return "", nil, fmt.Errorf("the token's issuer is not as it should be: %w", err)
	}
	good, err := verifier.Verify(ctx, token)
	if err != nil {
		return "", nil, i.refusal(err)
	}
	var said claims
	if err := good.Claims(&said); err != nil {
		return "", nil, errors.New("the token's claims cannot be read: expected client_id and groups as texts")
	}
	return i.vouch(good, said)
}

// maxAddress bounds what is repeated of a token that may be anybody's.
const maxAddress = 200

// refusal says in words why a token is not good.
func (i *Issuer) refusal(err error) error {
	var over *oidc.TokenExpiredError
	switch {
	case errors.As(err, &over):
		return fmt.Errorf("the token has run out, at %s", over.Expiry.UTC().Format(time.RFC3339))
	case i.fetched.failing():
		return errUnchecked{i.url}
	}
	return errors.New("the token is not good: it is not signed by its issuer, or not for now")
}

// verifier is made of what the issuer says of itself. It is made anew every now and then, by one request while the others go
// on with the one of before, which stays where that fails.
func (i *Issuer) verifier(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	i.mu.Lock()
	if i.tokens == nil {
		defer i.mu.Unlock()
		return i.discover(ctx)
	}
	before, due := i.tokens, time.Since(i.asked) >= askAgain
	if due {
		i.asked = time.Now()
	}
	i.mu.Unlock()
	if !due {
		return before, nil
	}
	fresh := &Issuer{url: i.url, client: i.client}
	now, err := fresh.discover(ctx)
	if err != nil {
		return before, nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.tokens = now
	return now, nil
}

// discover asks the issuer where its keys are.
func (i *Issuer) discover(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	ctx = oidc.InsecureIssuerURLContext(oidc.ClientContext(ctx, i.client), i.url) // checked here, but for the slash
	p, err := oidc.NewProvider(ctx, i.url)
	if err != nil {
		return nil, err
	}
	var said struct {
		Issuer string `json:"issuer"`
	}
	if err := p.Claims(&said); err != nil || (Issuers{i}).called(said.Issuer) == nil {
		return nil, fmt.Errorf("%s says that it is %q", i.url, said.Issuer)
	}
	i.tokens, i.asked = p.Verifier(&oidc.Config{SkipClientIDCheck: true, SkipIssuerCheck: true, SupportedSigningAlgs: algorithms,
		Now: func() time.Time { return time.Now().Add(-skew) }}), time.Now()
	return i.tokens, nil
}

// claims are what of a token decides, beside those that every one has.
type claims struct {
	ClientID string   `json:"client_id"`
	Groups   []string `json:"groups"`
	WLCG     []string `json:"wlcg.groups"`
}

// vouch is for whom a verified token speaks: the groups /vo and /vo/role are the origins vo and vo.role, as far as the
// issuer may speak for them. Where a token is for nobody in particular, the client that it was given to counts instead.
func (i *Issuer) vouch(t *oidc.IDToken, said claims) (name string, _ origins, _ error) {
	name = t.Subject
	audience := t.Audience
	if len(audience) == 0 {
		audience = []string{said.ClientID, t.Subject}
	}
	if !slices.ContainsFunc(audience, func(a string) bool { return slices.Contains(i.audiences, a) }) {
		return "", nil, fmt.Errorf("the token of %s is not for this server: its audience is %s", name, orNothing(strings.Join(t.Audience, " ")))
	}
	if slices.Contains(i.robots, said.ClientID) || slices.Contains(i.robots, t.Subject) {
		return name, i.origins, nil
	}
	var may origins
	for _, group := range slices.Concat(said.Groups, said.WLCG) {
		for _, o := range originsOf(group) {
			if i.origins.allow(o) && !slices.Contains(may, o) {
				may = append(may, o)
			}
		}
	}
	if len(may) == 0 {
		return "", nil, fmt.Errorf("the token of %s names no group that panda_issuers has an origin for", name)
	}
	return name, may, nil
}

// originsOf are those that a group stands for: its VO, and a role in it.
func originsOf(group string) []string {
	vo, role, _ := strings.Cut(strings.TrimPrefix(group, "/"), "/")
	switch {
	case vo == "" || strings.ContainsAny(group, `*?[\`): // would be read as a glob
		return nil
	case role == "" || strings.Contains(role, "/"):
		return []string{vo}
	}
	return []string{vo, vo + "." + role}
}
