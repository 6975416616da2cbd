package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/divvyhq/divvy/internal/keys"
)

// Issuers say for whom JSON web tokens stand, by their claims. Safe for concurrent use.
type Issuers struct {
	of    []*issuer
	login *Login

	mu       sync.Mutex
	verified map[credential]vouched // lately
}

// Login is an issuer that people log in at, and the client, without a secret, that they do it with.
type Login struct {
	*keys.Issuer
	ClientID string
	Scopes   []string // that are asked for
}

// alwaysAsked are scopes that give a token and the names of people.
var alwaysAsked = []string{"openid", "profile"}

// issuer is one with its lines.
type issuer struct {
	*keys.Issuer
	lines []claimed
}

// claimed is what a line wants of a token, and what it gives.
type claimed struct {
	claim, value string // value is a glob
	grant
}

// credential is a token as it is used.
type credential struct {
	Hash
	As
}

// vouched is what was found out of a token.
type vouched struct {
	caller *Caller
	until  time.Time
}

const (
	vouchedFor  = time.Minute // a token that was verified is believed for so long: what its issuer takes back ends within it
	mostVouched = 10_000
)

// Errors of tokens that the issuers know nothing of.
var errForeign = errors.New("the token is not known here, nor is its issuer")

// ReadIssuers makes what reads a file of issuers: a line is the address of one, the audience of tokens for this daemon (several
// with commas), a claim with a glob of its value, a role, and what it is bound to. user:{claim} is the text of a claim. The
// first line that fits a token counts. One line may have the word login in place of the claim, and scopes after it: people log in
// there, with the client of the first audience's name. Faults have their place: name:line.
func ReadIssuers(log *slog.Logger) func(name string, r io.Reader) (*Issuers, error) {
	return func(name string, r io.Reader) (*Issuers, error) {
		is := &Issuers{verified: map[credential]vouched{}}
		err := keys.EachLine(name, r, func(_ int, line string) error { return is.read(strings.Fields(line), log) })
		if err == nil && len(is.of) == 0 {
			err = fmt.Errorf("%s: no issuer in it; write a line a role: https://iam.example.org/ audience groups=/site/admins admin", name)
		}
		return is, err
	}
}

func (is *Issuers) read(words []string, log *slog.Logger) error {
	forLogin := len(words) > 2 && words[2] == "login"
	if len(words) < 4 && !forLogin {
		return fmt.Errorf("expected an issuer, an audience, claim=value and a role, or login, got %d words", len(words))
	}
	i, err := is.issuer(words[0], words[1], log)
	if err != nil {
		return err
	}
	if forLogin {
		if is.login != nil {
			return fmt.Errorf("a second line with login; people log in at %s", is.login.URL)
		}
		is.login = &Login{Issuer: i.Issuer, ClientID: i.Audiences()[0], Scopes: slices.Concat(alwaysAsked, words[3:])}
		return nil
	}
	l := claimed{}
	var ok bool
	if l.claim, l.value, ok = strings.Cut(words[2], "="); !ok || l.claim == "" || l.value == "" {
		return fmt.Errorf("%q is not claim=value, such as groups=/site/admins", words[2])
	}
	if _, err := path.Match(l.value, ""); err != nil {
		return fmt.Errorf("value %q is no glob: * stands for any letters but a slash, ? for one, [ab] for one of these", l.value)
	}
	if l.grant, err = readGrant(words[3:]); err != nil {
		return err
	}
	if u := l.user; strings.HasPrefix(u, "{") && (len(u) < 3 || !strings.HasSuffix(u, "}")) {
		return fmt.Errorf("user:%s is not user:{claim}", u)
	}
	i.lines = append(i.lines, l)
	return nil
}

// issuer returns the issuer of a line, which may be that of lines above.
func (is *Issuers) issuer(address, audiences string, log *slog.Logger) (*issuer, error) {
	made, err := keys.NewIssuer(address, audiences, log)
	if err != nil {
		return nil, err
	}
	if i := is.known(made.URL); i != nil {
		if !slices.Equal(i.Audiences(), made.Audiences()) {
			return nil, fmt.Errorf("issuer %s has another audience in a line above, %s", made.URL, strings.Join(i.Audiences(), ","))
		}
		return i, nil
	}
	i := &issuer{Issuer: made}
	is.of = append(is.of, i)
	return i, nil
}

// known returns the issuer of an address; nil: there is none.
func (is *Issuers) known(address string) *issuer {
	at := slices.IndexFunc(is.of, func(i *issuer) bool { return i.Is(address) })
	if at < 0 {
		return nil
	}
	return is.of[at]
}

// caller returns the caller that a token stands for. The error says why it stands for none, in words for whoever has sent it;
// keys.Unchecked: the issuer does not answer.
func (is *Issuers) caller(ctx context.Context, token string, as As) (*Caller, error) {
	return is.callerBy(credential{HashOf(token), as}, token, func(i *issuer) (keys.Proof, error) { return i.Verify(ctx, token) })
}

// session is caller for a browser that logged in with a token of this nonce.
func (is *Issuers) session(ctx context.Context, token, nonce string) (*Caller, error) {
	return is.callerBy(credential{HashOf("session " + nonce + " " + token), As{}}, token, func(i *issuer) (keys.Proof, error) { return i.VerifySession(ctx, token, nonce) })
}

func (is *Issuers) callerBy(key credential, token string, verify func(*issuer) (keys.Proof, error)) (*Caller, error) {
	address, isToken := keys.IssuerIn(token)
	if !isToken {
		return nil, errForeign
	}
	i := is.known(address)
	if i == nil {
		return nil, errForeign
	}
	now := time.Now()
	is.mu.Lock()
	v, ok := is.verified[key]
	is.mu.Unlock()
	if ok && now.Before(v.until) {
		return v.caller, nil
	}
	proof, err := verify(i)
	if err != nil {
		return nil, err
	}
	c, err := i.vouch(proof, key.As)
	if err != nil {
		return nil, err
	}
	v = vouched{c, now.Add(vouchedFor)}
	if proof.Expires.Before(v.until) {
		v.until = proof.Expires
	}
	is.mu.Lock()
	defer is.mu.Unlock()
	if len(is.verified) >= mostVouched {
		clear(is.verified)
	}
	is.verified[key] = v
	return c, nil
}

// vouch finds the first line that fits.
func (i *issuer) vouch(p keys.Proof, as As) (*Caller, error) {
	var why error
	var said map[string]any
	if err := p.Claims(&said); err != nil {
		return nil, errors.New("the token's claims cannot be read")
	}
	for _, l := range i.lines {
		if !slices.ContainsFunc(texts(l.claim, said[l.claim]), l.fits) {
			continue
		}
		user := l.user
		if claim, ok := strings.CutPrefix(user, "{"); ok {
			user, _ = said[strings.TrimSuffix(claim, "}")].(string)
		}
		if l.user != "" && !userName(user) {
			return nil, fmt.Errorf("the token of %s has no user's name in the claim %s", clip(p.Subject), l.user)
		}
		c, err := l.caller(Caller{Name: p.Subject, From: i.URL + " " + p.Subject, Until: p.Expires}, user).as(as)
		if err == nil {
			return c, nil
		}
		why = cmp.Or(why, err)
	}
	return nil, cmp.Or(why, fmt.Errorf("the token of %s has no claim that stands for a role here", clip(p.Subject)))
}

func (l claimed) fits(value string) bool {
	ok, err := path.Match(l.value, value)
	return ok && err == nil
}

// texts are the values of a claim: a text, or a list of them; those of scope stand in one text with blanks between.
func texts(claim string, value any) (all []string) {
	switch v := value.(type) {
	case string:
		if claim == "scope" {
			return strings.Fields(v)
		}
		return []string{v}
	case []any:
		for _, one := range v {
			if s, ok := one.(string); ok {
				all = append(all, s)
			}
		}
	}
	return all
}
