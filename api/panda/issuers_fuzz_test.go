package panda

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"math/big"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/internal/ownca"
)

// How the token of FuzzVouch is made of its parts.
const (
	asGiven      = iota // the signature is as it came
	wellSigned          // by the issuer's key, whatever the head says
	othersKey           // by another key
	asOneText           // the payload is all of the token
	waysToAToken        // how many there are
)

// Whatever bytes come as a token, nobody is vouched for but by the issuer's signature over just these bytes, and then under
// a name, for origins that the issuer's line has. ISSUER in head and payload stands for its address, which each run has anew.
func FuzzVouch(f *testing.F) {
	issuer := ownca.NewIssuer(f)
	is, err := ReadIssuers(nil)("f", strings.NewReader(issuer.URL+" divvy atlas atlas.* robot:r2d2\n"))
	if err != nil {
		f.Fatal(err)
	}
	if name, may, err := is.check(f.Context(), issuer.Token(nil)); err != nil || name != "ann" || len(may) == 0 {
		f.Fatal(name, may, err)
	}
	foreign := ownca.NewKey(f)
	const head, payload = `{"alg":"ES256","kid":"k1"}`, `{"iss":"ISSUER","sub":"ann","aud":"divvy","exp":99999999999,"groups":["/atlas"]}`
	f.Add(head, payload, []byte(nil), uint8(wellSigned))
	f.Add(head, payload, []byte(nil), uint8(othersKey))
	f.Add(`{"alg":"none"}`, payload, []byte(nil), uint8(asGiven))
	f.Fuzz(func(t *testing.T, head, payload string, signature []byte, how uint8) {
		here := strings.NewReplacer("ISSUER", issuer.URL)
		head, payload = here.Replace(head), here.Replace(payload)
		signed := base64.RawURLEncoding.EncodeToString([]byte(head)) + "." + base64.RawURLEncoding.EncodeToString([]byte(payload))
		switch how % waysToAToken {
		case wellSigned:
			signature = signatureOf(t, issuer.Key(), signed)
		case othersKey:
			signature = signatureOf(t, foreign, signed)
		}
		token := signed + "." + base64.RawURLEncoding.EncodeToString(signature)
		if how%waysToAToken == asOneText {
			token = payload
		}
		name, may, err := is.check(t.Context(), token)
		if err != nil {
			if name != "" || may != nil {
				t.Errorf("%q: refused, and vouched for %q %v", token, name, may)
			}
			return
		}
		if !signedBy(&issuer.Key().PublicKey, token) {
			t.Errorf("%q: vouched for %q without the issuer's signature", token, name)
		}
		if strings.TrimSpace(name) == "" || len(may) == 0 {
			t.Errorf("%q: vouched for %q, of %v", token, name, may)
		}
		for _, o := range may {
			if o != "atlas.*" && !is[0].origins.allow(o) { // a robot has the line's globs
				t.Errorf("%q: vouched for %q, which the line has not", token, o)
			}
		}
	})
}

// signatureOf signs by ES256: both numbers, 32 bytes each.
func signatureOf(t *testing.T, key *ecdsa.PrivateKey, text string) []byte {
	t.Helper()
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
}

// signedBy checks the signature of a token by itself, whatever the token says of how it was made.
func signedBy(key *ecdsa.PublicKey, token string) bool {
	text, last, _ := strings.Cut(token, ".")
	middle, last, _ := strings.Cut(last, ".")
	b, err := base64.RawURLEncoding.DecodeString(last)
	if err != nil || len(b) != 64 {
		return false
	}
	sum := sha256.Sum256([]byte(text + "." + middle))
	return ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(b[:32]), new(big.Int).SetBytes(b[32:]))
}
