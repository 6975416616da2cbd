package access

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/keys"
	"github.com/divvyhq/divvy/internal/ownca"
)

// says is a caller in a test's words.
func says(c *Caller) string {
	if c == nil {
		return "nobody"
	}
	return fmt.Sprintf("%s %s %s", c.Name, c.Role, c.Subject)
}

// The first line that fits the whole subject says whom a certificate stands for.
func TestCertificates(t *testing.T) {
	cs, err := ReadCertificates("f", strings.NewReader(`
# people
"/DC=org/DC=grid/CN=(\w+) the user"   submitter user:$1
"/DC=org/DC=grid/CN=any (.*)"         submitter user:$1
"/DC=org/DC=grid/CN=Robot: (\w+)"     pilot queue:CERN queue:BNL
"/DC=org/DC=grid/CN=Robot: all"       admin
"/DC=org/DC=grid/CN=\"q\""            reader
"/DC=org/DC=grid/CN=h"                share-owner share:Physics/Higgs
`))
	if err != nil {
		t.Fatal(err)
	}
	ca := ownca.New(t, "ca")
	for cn, want := range map[string]string{
		"ann the user": "/DC=org/DC=grid/CN=ann the user submitter user ann", "Robot: all": "/DC=org/DC=grid/CN=Robot: all pilot queues CERN, BNL",
		`"q"`: `/DC=org/DC=grid/CN="q" reader `, "h": "/DC=org/DC=grid/CN=h share-owner share Physics/Higgs", "hh": "nobody",
		"any ": "nobody", "x/DC=org/DC=grid/CN=h": "nobody", strings.Repeat("x", 60) + " the user": "/DC=org/DC=grid/CN=" + strings.Repeat("x", 60) + " the user submitter user " + strings.Repeat("x", 60),
	} {
		cert, key := ca.Issue(t, time.Now().Add(time.Hour), ownca.Person(cn)...)
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		c, err := (&Outside{Certificates: cs}).ByCertificate([]*x509.Certificate{pair.Leaf}, As{})
		if got := says(c); got != want || (c == nil) != (err != nil) {
			t.Errorf("%s: %s %v, want %s", cn, got, err, want)
		}
		if c == nil && !strings.HasPrefix(err.Error(), "no line of tls_roles fits the certificate /DC=org/DC=grid/CN=") {
			t.Error(err)
		}
	}
	if c, err := (&Outside{}).ByCertificate(nil, As{}); c != nil || err != nil {
		t.Errorf("without a certificate: %v %v", c, err)
	}
}

func TestCertificateFaults(t *testing.T) {
	for src, want := range map[string]string{
		"":                                  `f: no line in it`,
		"\n/CN=x reader":                    `f:2: expected "pattern of subjects" role …`,
		`"/CN=x"`:                           `f:1: expected "pattern of subjects" role …`,
		`"/CN=(" reader`:                    "f:1: error parsing regexp",
		`"/CN=x" boss`:                      `f:1: role is "boss", expected pilot, submitter`,
		`"/CN=x" submitter`:                 `f:1: user is "": a submitter has one`,
		`"/CN=x" pilot origin:[a`:           `f:1: origin "[a" is no glob`,
		`"/CN=x" submitter user:$1`:         `f:1: user $1: the pattern has no group "1"`,
		`"/CN=x" pilot CERN`:                `f:1: "CERN" is not user:NAME, queue:NAME, share:PATH or origin:GLOB`,
		`"/CN=x" share-owner share:`:        `f:1: "share:" is not user:NAME`,
		`"/CN=x" submitter user:a user:b`:   `f:1: "user:b" is not user:NAME, queue:NAME, share:PATH or origin:GLOB, or the second of its kind`,
		"# ok\n\"/CN=x\" reader queue:CERN": `f:2: queues are ["CERN"]: pilots only`,
	} {
		if _, err := ReadCertificates("f", strings.NewReader(src)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", src, err, want)
		}
	}
}

// issuersOf reads lines, in which I is the issuer.
func issuersOf(t *testing.T, i *ownca.Issuer, lines string) *Outside {
	t.Helper()
	is, err := ReadIssuers(nil)("f", strings.NewReader(strings.ReplaceAll(lines, "I ", i.URL+" ")))
	if err != nil {
		t.Fatal(err)
	}
	return &Outside{Issuers: is}
}

// Claims make roles, in the order of the lines; a user's name comes out of the token, and nothing unsigned counts.
func TestIssuers(t *testing.T) {
	i, foreign := ownca.NewIssuer(t), ownca.NewIssuer(t)
	o := issuersOf(t, i, `
I divvy,other  groups=/divvy/admins  admin
I divvy,other  scope=divvy.pull      pilot queue:CERN
I divvy,other  groups=/divvy/*       submitter user:{preferred_username}
I divvy,other  sub=r2d2              operator
`)
	forged := i.Sign(ownca.NewKey(t), `{"iss":"`+i.URL+`","sub":"ann","aud":"divvy","exp":99999999999,"groups":["/divvy/admins"]}`)
	with := func(changes map[string]any) string { return i.Token(changes) }
	groups := func(g ...string) map[string]any { return map[string]any{"groups": g, "preferred_username": "alice"} }
	for _, c := range []struct{ name, token, want string }{
		{"admin", with(groups("/x", "/divvy/admins", "/divvy/users")), "ann admin "},
		{"user by a claim", with(groups("/divvy/users")), "ann submitter user alice"},
		{"no claim with a name", with(map[string]any{"groups": []string{"/divvy/users"}}), "the token of ann has no user's name in the claim {preferred_username}"},
		{"a name that is none", with(map[string]any{"groups": []string{"/divvy/users"}, "preferred_username": "a\nb"}), "the token of ann has no user's name in the claim {preferred_username}"},
		{"scope", with(map[string]any{"scope": "openid divvy.pull"}), "ann pilot queues CERN"},
		{"sub and second audience", with(map[string]any{"sub": "r2d2", "aud": []string{"y", "other"}}), "r2d2 operator "},
		{"a slash too much", with(groups("/divvy/users/x")), "the token of ann has no claim that stands for a role here"},
		{"another audience", with(map[string]any{"aud": "x"}), "the token of ann is not for this server: its audience is x"},
		{"run out", with(map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}), "the token has run out, at "},
		{"not yet", with(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}), "the token is not good: "},
		{"forged", forged, "the token is not good: "},
		{"not signed", "eyJhbGciOiJub25lIn0." + strings.Split(with(groups("/divvy/admins")), ".")[1] + ".", "the token is not good: "},
		{"foreign", foreign.Token(groups("/divvy/admins")), errForeign.Error()},
		{"no JSON web token", "divvy_0123456789_x", errForeign.Error()},
	} {
		for range 2 { // once more, as it is known
			got, err := o.ByToken(t.Context(), c.token, As{})
			text := says(got)
			if err != nil {
				text = err.Error()
			}
			if !strings.HasPrefix(text, c.want) || (got == nil) != (err != nil) || strings.Contains(text, c.token) {
				t.Errorf("%s: %s, want %s", c.name, text, c.want)
			}
		}
	}
	if n := i.Asked.Load(); n != 2 {
		t.Errorf("the issuer was asked %d times, want once for where its keys are and once for them", n)
	}
	if n := foreign.Asked.Load(); n != 0 {
		t.Errorf("a foreign issuer was asked %d times", n)
	}
	if n := len(o.Issuers.verified); n != 4 {
		t.Errorf("%d tokens are kept, want the 4 good ones", n)
	}
}

// An issuer that is away is no reason to take its tokens for bad, and a token that is known is good without it until it ends.
func TestIssuerAway(t *testing.T) {
	i := ownca.NewIssuer(t)
	o := issuersOf(t, i, "I divvy sub=ann reader")
	i.Away.Store(true)
	token := i.Token(nil)
	if _, err := o.ByToken(t.Context(), token, As{}); !errors.As(err, new(keys.Unchecked)) {
		t.Fatal(err)
	}
	i.Away.Store(false)
	o.Issuers.of[0].AskAgain()
	c, err := o.ByToken(t.Context(), token, As{})
	if err != nil || c.Role != Reader || c.From != i.URL+" ann" {
		t.Fatal(c, err)
	}
	if again, err := o.ByToken(t.Context(), token, As{}); err != nil || again != c {
		t.Errorf("%v %v: it was looked into again", again, err)
	}
	short := i.Token(map[string]any{"exp": time.Now().Add(-10 * time.Second).Unix()})
	if _, err := o.ByToken(t.Context(), short, As{}); err != nil {
		t.Error("a clock that is off: ", err)
	}
	if v := o.Issuers.verified[credential{Hash: HashOf(short)}]; time.Now().Before(v.until) {
		t.Error("a token that has run out is kept")
	}
}

// One line says where people log in, with which client and scopes.
func TestLoginLine(t *testing.T) {
	i := ownca.NewIssuer(t)
	o := issuersOf(t, i, "I divvy,other sub=ann reader\nI divvy,other login groups")
	if l := o.Login(); l == nil || l.URL != i.URL || l.ClientID != "divvy" || !slices.Equal(l.Scopes, []string{"openid", "profile", "groups"}) {
		t.Errorf("%+v", l)
	}
	if c, err := o.ByToken(t.Context(), i.Token(nil), As{}); says(c) != "ann reader " || c.Until.Before(time.Now()) || c.By() != "web token" {
		t.Errorf("%s %v", says(c), err)
	}
	if l := issuersOf(t, i, "I divvy sub=ann reader").Login(); l != nil || (*Outside)(nil).Login() != nil || (&Outside{}).Login() != nil {
		t.Errorf("%+v", l)
	}
	if c, err := (&Outside{}).BySession(t.Context(), i.Token(nil), "n"); c != nil || err == nil {
		t.Error("a session without issuers")
	}
}

func TestIssuerFaults(t *testing.T) {
	for src, want := range map[string]string{
		"":                                     "f: no issuer in it",
		"\nhttps://a b sub=x":                  "f:2: expected an issuer, an audience, claim=value and a role, or login, got 3 words",
		"https://a b login\nhttps://b c login": "f:2: a second line with login; people log in at https://a",
		"https://a b login\nhttps://a c s=y admin":       "f:2: issuer https://a has another audience in a line above, b",
		"http://a.example b s=x reader":                  `f:1: issuer "http://a.example" is not an address such as`,
		"https://a b, s=x reader":                        "f:1: an audience has no name",
		"https://a b s reader":                           `f:1: "s" is not claim=value`,
		"https://a b s= reader":                          `f:1: "s=" is not claim=value`,
		"https://a b s=[ reader":                         `f:1: value "[" is no glob`,
		"https://a b s=x boss":                           `f:1: role is "boss"`,
		"https://a b s=x submitter":                      `f:1: user is ""`,
		"https://a b s=x submitter user:{sub":            "f:1: user:{sub is not user:{claim}",
		"https://a b s=x reader\nhttps://a/ c s=y admin": "f:2: issuer https://a/ has another audience in a line above, b",
	} {
		if _, err := ReadIssuers(nil)("f", strings.NewReader(src)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", src, err, want)
		}
	}
}
