package web

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/keys"
	"github.com/divvyhq/divvy/internal/login"
)

// A login at an issuer:
//
//	/login/start ── cookie: secret, next ──▶ the issuer ── state, code ──▶ /login/back ── cookie: session, ID token ──▶ next
//
// The session's cookie has the ID token, which any daemon of the site can check, and what its nonce was made of. No script can read
// it, and no foreign page can make a browser send it.
const (
	startPath   = "/login/start"
	backPath    = "/login/back"
	loginCookie = "divvy_login"
	loginLasts  = 10 * time.Minute
	mostCookie  = 4000 // bytes: browsers drop longer ones in silence
)

// issuer is where people log in; nil: nowhere.
func (p *Page) issuer() *access.Login {
	if p.cfg.Outside == nil {
		return nil
	}
	return p.cfg.Outside().Login()
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host
}

// loggedIn returns whose session the browser has by a login at an issuer; nil: it has none.
func (p *Page) loggedIn(r *http.Request, session, token string) *access.Caller {
	if p.cfg.Outside == nil {
		return nil
	}
	c, _ := p.cfg.Outside().BySession(r.Context(), token, login.Nonce(session))
	return c
}

// code is the login of a secret, with the address of this daemon as the browser has it.
func code(at *access.Login, r *http.Request, secret string) login.Code {
	scheme := "http"
	if secure(r) {
		scheme = "https"
	}
	return login.Code{Client: login.Client{Issuer: at.Issuer, ID: at.ClientID, Scopes: at.Scopes}, Back: scheme + "://" + r.Host + backPath, Secret: secret}
}

// startLogin is GET /login/start: off to the issuer.
func (p *Page) startLogin(w http.ResponseWriter, r *http.Request) {
	next := localPath(r.URL.Query().Get("next"))
	at := p.issuer()
	if at == nil {
		http.Redirect(w, r, "/login?next="+url.QueryEscape(next), http.StatusSeeOther)
		return
	}
	secret := login.NewSecret()
	to, err := code(at, r, secret).URL(r.Context())
	if err != nil {
		p.loginFailed(w, r, next, err)
		return
	}
	setLoginCookie(w, r, secret+"."+base64.RawURLEncoding.EncodeToString([]byte(next)), loginLasts)
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, to, http.StatusSeeOther) //nolint:gosec // G710: to the issuer of the configuration; next is a path of this daemon
}

// setLoginCookie sets the cookie of a login that has begun. The browser sends it when the issuer, another site, sends it back here.
func setLoginCookie(w http.ResponseWriter, r *http.Request, value string, lasts time.Duration) {
	http.SetCookie(w, &http.Cookie{Name: loginCookie, Value: value, Path: "/login", MaxAge: int(lasts / time.Second), HttpOnly: true, //nolint:gosec // G124: Secure where the browser speaks TLS
		Secure: secure(r), SameSite: http.SameSiteLaxMode})
}

// endLogin is GET /login/back: the issuer sends the browser here.
func (p *Page) endLogin(w http.ResponseWriter, r *http.Request) {
	var secret, next string
	if c, err := r.Cookie(loginCookie); err == nil {
		before, after, _ := strings.Cut(c.Value, ".")
		path, _ := base64.RawURLEncoding.DecodeString(after)
		secret, next = before, string(path)
	}
	next = localPath(next)
	at, q := p.issuer(), r.URL.Query()
	if at == nil || secret == "" {
		p.loginFailed(w, r, next, login.ErrState)
		return
	}
	setLoginCookie(w, r, "", -time.Second)
	this := code(at, r, secret)
	if said := q.Get("error"); said != "" {
		p.loginFailed(w, r, next, fmt.Errorf("%s says: %.300s", hostOf(at.URL), strings.TrimSuffix(said+": "+q.Get("error_description"), ": ")))
		return
	}
	token, err := this.Token(r.Context(), q.Get("state"), q.Get("code"))
	if err == nil {
		_, err = p.cfg.Outside().BySession(r.Context(), token, login.Nonce(this.Session()))
	}
	value := this.Session() + "." + token
	if err == nil && len(value) > mostCookie {
		err = fmt.Errorf("the token of %s has %d bytes, and a browser keeps %d at most; ask for fewer scopes", hostOf(at.URL), len(token), mostCookie)
	}
	if err != nil {
		p.loginFailed(w, r, next, err)
		return
	}
	setCookie(w, r, sessionCookie, value, keys.SessionLasts)
	// A page of this site goes on, not a redirect: with what began at the issuer no browser sends the cookie.
	w.Header().Set("Refresh", "0; url="+escaped(next))
	p.askToken(w, r, http.StatusOK, Login{AsOf: Now(), Next: next, Done: true})
}

// escaped is a path as a header takes it.
func escaped(path string) string {
	u, err := url.Parse(path)
	if err != nil {
		return "/"
	}
	return u.String()
}

// loginFailed shows why, and the page for another try.
func (p *Page) loginFailed(w http.ResponseWriter, r *http.Request, next string, err error) {
	status := http.StatusUnauthorized
	if errors.As(err, new(*login.Away)) || errors.As(err, new(keys.Unchecked)) {
		status = http.StatusBadGateway
	}
	p.askToken(w, r, status, Login{AsOf: Now(), Next: next, Wrong: "Nobody was logged in: " + err.Error() + "."})
}
