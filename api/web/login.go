package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/divvyhq/divvy/api/origin"
	"github.com/divvyhq/divvy/internal/access"
)

// Cookies of the page.
const (
	sessionCookie = "divvy_session" // when it ends, and a MAC of that by a token's hash; or what issuer.go says
	formCookie    = "divvy_form"    // the same text as the field of a form: a foreign page cannot read it
	saidCookie    = "divvy_said"    // what an act has said, until it is shown
	formField     = "form_token"
	sessionLasts  = 12 * time.Hour
)

// guard lets those in who have the right to a route, and tells what serves it who they are.
func (p *Page) guard(method, pattern string, next http.Handler) http.Handler {
	return p.ofThisOrigin(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := p.caller(r)
		if c != nil {
			r = r.WithContext(access.With(r.Context(), c))
			err := p.cfg.May(c, method, pattern)
			if err == nil && p.cfg.Admit != nil {
				err = p.cfg.Admit(c, method, pattern)
			}
			if err != nil {
				p.failed(w, r, err)
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		if r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") {
			http.Redirect(w, r, "/login?next="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="divvy"`)
		p.failed(w, r, ErrUnauthorized)
	}))
}

// caller returns who makes a request, by a session or a token; nil: a caller that is not admitted.
func (p *Page) caller(r *http.Request) *access.Caller {
	if c := p.session(r); c != nil {
		return c
	}
	return p.cfg.Caller(r)
}

// ofThisOrigin keeps out what a foreign page makes a browser send.
func (p *Page) ofThisOrigin(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !p.cfg.Closed && origin.Rebound(r):
			p.failed(w, r, fmt.Errorf("%w: host %q on a loopback address", ErrForeign, r.Host))
		case r.Method != http.MethodGet && origins.Check(r) != nil:
			p.failed(w, r, fmt.Errorf("%w: of another origin", ErrForeign))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// A session's cookie: when it ends, seconds since 1970; by what the book finds its token; a MAC of both.
const (
	endOf  = 8
	keyOf  = 8
	sealed = endOf + keyOf
)

// session is whose session the browser has; nil: it has none. Any daemon with the same tokens knows it, and it ends with its
// token.
func (p *Page) session(r *http.Request) *access.Caller {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return nil
	}
	if session, token, ok := strings.Cut(c.Value, "."); ok {
		return p.loggedIn(r, session, token)
	}
	raw, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil || len(raw) != sealed+sha256.Size || time.Now().Unix() >= int64(binary.BigEndian.Uint64(raw)) {
		return nil
	}
	return p.cfg.Book.Match(binary.BigEndian.Uint64(raw[endOf:]), func(h access.Hash) bool {
		return subtle.ConstantTimeCompare(raw[sealed:], seal(h, raw[:sealed])) == 1
	})
}

// seal is the MAC of a session's begin by the hash of a token, which only the daemon has.
func seal(token access.Hash, begin []byte) []byte {
	m := hmac.New(sha256.New, token[:])
	m.Write([]byte("divvy session"))
	m.Write(begin)
	return m.Sum(nil)
}

// Login is the page that asks for a token.
type Login struct {
	AsOf
	Next     string
	Wrong    string // why a token was not taken, or a login failed
	Needless bool   // the daemon has no tokens
	Start    string // where a login at an issuer begins; "": there is none
	Issuer   string // its host
	Done     bool   // the login went well
}

func (p *Page) loginPage(w http.ResponseWriter, r *http.Request) {
	p.askToken(w, r, http.StatusOK, Login{AsOf: Now(), Next: localPath(r.URL.Query().Get("next")), Needless: !p.cfg.Closed})
}

func (p *Page) askToken(w http.ResponseWriter, r *http.Request, status int, l Login) {
	if at := p.issuer(); at != nil {
		l.Start, l.Issuer = startPath+"?next="+url.QueryEscape(l.Next), hostOf(at.URL)
	}
	f := p.frame(w, r, "")
	f.Title, f.Show, f.View, f.Links = "Log in", l, "login", nil
	p.render(w, status, "login", f)
}

// login is POST /login: a token for a session.
func (p *Page) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if r.ParseForm() != nil || !formIsOurs(r) {
		p.failed(w, r, ErrForm)
		return
	}
	next := localPath(r.PostForm.Get("next"))
	token := strings.TrimSpace(r.PostForm.Get("token"))
	hash := access.HashOf(token)
	if p.cfg.Book.Find(token) == nil {
		wrong := "The daemon does not know this token."
		if why := p.cfg.Book.Expired(token); why != nil {
			wrong = "The daemon takes it no more: " + why.Error() + "."
		}
		p.askToken(w, r, http.StatusUnauthorized, Login{AsOf: Now(), Next: next, Wrong: wrong})
		return
	}
	begin := binary.BigEndian.AppendUint64(nil, uint64(time.Now().Add(sessionLasts).Unix()))
	begin = binary.BigEndian.AppendUint64(begin, access.KeyOf(hash))
	value := base64.RawURLEncoding.EncodeToString(append(begin, seal(hash, begin)...))
	setCookie(w, r, sessionCookie, value, sessionLasts)
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// logout is POST /logout.
func (p *Page) logout(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if r.ParseForm() != nil || !formIsOurs(r) {
		p.failed(w, r, ErrForm)
		return
	}
	setCookie(w, r, sessionCookie, "", -time.Second)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// localPath is a path of this daemon to go on to, and nothing that leads elsewhere. Browsers leave tabs and line ends out of
// an address before they read it, and take a backslash for a slash.
func localPath(next string) string {
	astray := func(r rune) bool { return r == '\\' || unicode.IsControl(r) }
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsFunc(next, astray) {
		return "/"
	}
	return next
}

func setCookie(w http.ResponseWriter, r *http.Request, name, value string, lasts time.Duration) {
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: int(lasts / time.Second), HttpOnly: true,
		Secure: secure(r), SameSite: http.SameSiteStrictMode})
}

// secure says whether the browser speaks TLS, to this daemon or to what is in front of it.
func secure(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

// formToken is the text that forms of this browser carry; a browser without one gets it now.
func formToken(w http.ResponseWriter, r *http.Request) string {
	if c, err := r.Cookie(formCookie); err == nil && len(c.Value) == 32 {
		return c.Value
	}
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	token := hex.EncodeToString(b[:])
	setCookie(w, r, formCookie, token, 30*24*time.Hour)
	return token
}

// formIsOurs compares a form's field with the browser's cookie.
func formIsOurs(r *http.Request) bool {
	c, err := r.Cookie(formCookie)
	return err == nil && len(c.Value) == 32 && subtle.ConstantTimeCompare([]byte(c.Value), []byte(r.PostForm.Get(formField))) == 1
}

// say leaves a sentence for the next page of this browser.
func say(w http.ResponseWriter, r *http.Request, sentence string) {
	if sentence != "" {
		setCookie(w, r, saidCookie, url.QueryEscape(sentence), time.Minute)
	}
}

// said takes it.
func said(w http.ResponseWriter, r *http.Request) string {
	c, err := r.Cookie(saidCookie)
	if err != nil || c.Value == "" {
		return ""
	}
	setCookie(w, r, saidCookie, "", -time.Second)
	sentence, err := url.QueryUnescape(c.Value)
	if err != nil {
		return ""
	}
	return sentence
}
