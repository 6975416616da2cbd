package ownca

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Logins is how people log in at an Issuer: by a code for devices (RFC 8628), or by a browser that is sent back with a code
// (PKCE, S256). Set the fields before they are needed, or by Now.
type Logins struct {
	Claims  map[string]any // of the tokens, beside those of Issuer.Token
	Life    time.Duration  // of the tokens; 0 = an hour
	Code    time.Duration  // of a device's code; 0 = five minutes
	Polls   []string       // what polls of a device are answered, one after the other: errors; then tokens
	Nonce   string         // of ID tokens; "" = that of the login
	Opaque  bool           // access tokens say nothing
	Scope   string         // of access tokens
	NoID    bool           // renewals bring no ID token
	Renewed int            // renewals that went well
	Revoked []string       // refresh tokens that were given back

	mu      sync.Mutex
	codes   map[string]url.Values // by what the browser brings back: what it came with
	refresh string                // the one that is good: each is used once
	ended   bool                  // one was used twice: nothing of the login is good any more
}

// Now reads or sets the fields while the issuer is asked.
func (l *Logins) Now(do func(l *Logins)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do(l)
}

// End ends the login: it cannot be renewed.
func (l *Logins) End() { l.Now(func(l *Logins) { l.ended = true }) }

// published is what the issuer says of itself.
func (i *Issuer) published(w http.ResponseWriter) {
	answer(w, http.StatusOK, map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/auth", "token_endpoint": i.URL + "/token",
		"device_authorization_endpoint": i.URL + "/device", "revocation_endpoint": i.URL + "/revoke", "scopes_supported": []string{"openid", "profile", "offline_access"}})
}

func answer(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// serveLogin answers what belongs to a login; false: it is something else.
func (i *Issuer) serveLogin(w http.ResponseWriter, r *http.Request) bool {
	i.Logins.mu.Lock()
	defer i.Logins.mu.Unlock()
	switch r.Method + " " + r.URL.Path {
	case "GET /.well-known/openid-configuration":
		i.published(w)
	case "GET /auth":
		i.authorize(w, r)
	case "POST /device":
		life := i.Code
		if life == 0 {
			life = 5 * time.Minute
		}
		answer(w, http.StatusOK, map[string]any{"device_code": "the device", "user_code": "WXYZ-1234", "verification_uri": i.URL + "/enter",
			"verification_uri_complete": i.URL + "/enter?code=WXYZ-1234", "expires_in": int(life.Seconds()), "interval": 1})
	case "POST /token":
		i.grant(w, r)
	case "POST /revoke":
		i.Revoked = append(i.Revoked, r.PostFormValue("token"))
	default:
		return false
	}
	return true
}

// authorize sends the browser back at once: the person is known.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	code := rand.Text()
	if i.codes == nil {
		i.codes = map[string]url.Values{}
	}
	i.codes[code] = q
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"state": q["state"], "code": {code}}.Encode(), http.StatusSeeOther)
}

func (i *Issuer) grant(w http.ResponseWriter, r *http.Request) {
	refuse := func(code string) { answer(w, http.StatusBadRequest, map[string]any{"error": code}) }
	form := func(name string) string { return r.PostFormValue(name) }
	if form("client_id") != "divvy" || r.Header.Get("Authorization") != "" {
		refuse("invalid_client")
		return
	}
	switch form("grant_type") {
	case "urn:ietf:params:oauth:grant-type:device_code":
		if len(i.Polls) > 0 {
			says := i.Polls[0]
			i.Polls = i.Polls[1:]
			refuse(says)
			return
		}
		i.give(w, "", true)
	case "authorization_code":
		asked, ok := i.codes[form("code")]
		delete(i.codes, form("code"))
		sum := sha256.Sum256([]byte(form("code_verifier")))
		if !ok || asked.Get("code_challenge_method") != "S256" || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) ||
			asked.Get("redirect_uri") != form("redirect_uri") {
			refuse("invalid_grant")
			return
		}
		i.give(w, asked.Get("nonce"), true)
	case "refresh_token":
		if i.ended = i.ended || form("refresh_token") != i.refresh; i.ended {
			refuse("invalid_grant")
			return
		}
		i.Renewed++
		i.give(w, "", !i.NoID)
	default:
		refuse("unsupported_grant_type")
	}
}

// give answers with tokens.
func (i *Issuer) give(w http.ResponseWriter, nonce string, id bool) {
	life := i.Life
	if life == 0 {
		life = time.Hour
	}
	claims := map[string]any{"exp": time.Now().Add(life).Unix(), "jti": rand.Text()}
	if i.Logins.Nonce != "" {
		nonce = i.Logins.Nonce
	}
	if nonce != "" {
		claims["nonce"] = nonce
	}
	for name, v := range i.Claims {
		claims[name] = v
	}
	i.refresh = fmt.Sprintf("refresh-%d-%s", i.Renewed, rand.Text())
	ofAccess := maps.Clone(claims)
	if i.Scope != "" {
		ofAccess["scope"] = i.Scope
	}
	said := map[string]any{"access_token": i.Token(ofAccess), "token_type": "Bearer", "expires_in": int(life.Seconds()), "refresh_token": i.refresh}
	if i.Opaque {
		said["access_token"] = rand.Text()
	}
	if id {
		said["id_token"] = i.Token(claims)
	}
	answer(w, http.StatusOK, said)
}
