package ownca

import (
	"crypto/ecdsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
)

// Issuer makes JSON web tokens, and publishes its key. People log in there.
type Issuer struct {
	*httptest.Server
	Logins
	Asked atomic.Int32
	Away  atomic.Bool // it answers nothing
	t     testing.TB
	key   *ecdsa.PrivateKey
}

// NewIssuer runs one until the test ends.
func NewIssuer(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{t: t, key: NewKey(t)}
	keys := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: i.key.Public(), KeyID: "k1", Algorithm: oidc.ES256}}}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.Asked.Add(1)
		if i.Away.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		if !i.serveLogin(w, r) {
			keys.ServeHTTP(w, r)
		}
	}))
	keys.SetIssuer(i.URL)
	t.Cleanup(i.Close)
	return i
}

// Token is one that the issuer signs: of ann for divvy, in some groups, good for an hour, but for the changes; nil: without.
func (i *Issuer) Token(changes map[string]any) string {
	i.t.Helper()
	c := map[string]any{"iss": i.URL, "sub": "ann", "aud": "divvy", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(),
		"groups": []string{"/atlas", "/atlas/pilot", "/atlas/production/mc", "/cms/pilot"}}
	for name, v := range changes {
		c[name] = v
		if v == nil {
			delete(c, name)
		}
	}
	b, err := json.Marshal(c)
	if err != nil {
		i.t.Fatal(err)
	}
	return i.Say(string(b))
}

// Key is that with which it signs what it says.
func (i *Issuer) Key() *ecdsa.PrivateKey { return i.key }

// Say signs claims as they are written, with the issuer's key.
func (i *Issuer) Say(claims string) string { return i.Sign(i.key, claims) }

// Sign signs claims with a key, which may be another than that which the issuer publishes.
func (i *Issuer) Sign(key *ecdsa.PrivateKey, claims string) string {
	return oidctest.SignIDToken(key, "k1", oidc.ES256, claims)
}
