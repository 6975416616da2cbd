package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/divvyhq/divvy/internal/site/strict"
)

// Errors of this package; the API's table of errors has their status and code.
var (
	ErrNoPage       = errors.New("there is no such page")
	ErrUnauthorized = errors.New("no valid token")
	ErrForeign      = errors.New("the request may come from a foreign page")
	ErrForm         = errors.New("the form is not one that this page has made for this browser")
	ErrTooMany      = errors.New("too many pages are open")
	ErrQuery        = errors.New("a parameter is wrong")
	ErrMeanwhile    = errors.New("what the form was made of has changed")
)

// Page is the daemon's page.
type Page struct {
	cfg       Config
	rooms     rooms
	byPath    map[string]*View
	paths     *chi.Mux // of byPath
	templates map[string]*template.Template
	assets    map[string]*asset
}

// Route is one path of the page for the daemon's router.
type Route struct {
	Method, Path string
	Serve        http.Handler
}

// New makes the page. A template that does not parse panics: a test shows all of them.
func New(cfg Config) *Page {
	if cfg.Timeout <= 0 {
		cfg.Timeout = time.Minute
	}
	p := &Page{cfg: cfg, rooms: newRooms(cfg), byPath: map[string]*View{}, paths: chi.NewMux(), assets: readAssets()}
	p.templates = p.readTemplates()
	for _, v := range p.rooms.views() {
		p.byPath[v.Path] = &v
		p.paths.Get(v.Path, func(http.ResponseWriter, *http.Request) {})
	}
	return p
}

// Routes lists all that the page serves. Each checks for itself who asks.
func (p *Page) Routes() (all []Route) {
	for _, v := range p.rooms.views() {
		all = append(all, Route{http.MethodGet, v.Path, p.guard(http.MethodGet, v.Path, compressed(p.serveView(&v)))})
	}
	for _, a := range p.rooms.acts() {
		all = append(all, Route{http.MethodPost, a.Path, p.guard(http.MethodPost, a.Path, p.serveAct(a))})
	}
	all = append(all,
		Route{http.MethodGet, "/events", p.guard(http.MethodGet, "/events", http.HandlerFunc(p.events))},
		Route{http.MethodGet, "/assets/*", compressed(http.HandlerFunc(p.serveAsset))}, // public, and the same for all
	)
	all = append(all, Route{http.MethodGet, "/login", http.HandlerFunc(p.loginPage)})
	if p.cfg.Closed {
		all = append(all, Route{http.MethodPost, "/login", p.ofThisOrigin(http.HandlerFunc(p.login))},
			Route{http.MethodPost, "/logout", p.ofThisOrigin(http.HandlerFunc(p.logout))},
			Route{http.MethodGet, startPath, http.HandlerFunc(p.startLogin)}, Route{http.MethodGet, backPath, http.HandlerFunc(p.endLogin)})
	}
	return all
}

// compressed sends pages and scripts as small as the browser takes them. Nothing else is: a stream of events has to arrive line
// by line, and pilots read what is sent as it is.
func compressed(next http.Handler) http.Handler { return compressor()(next) }

// compressor has tables of a megabyte, which commands do without.
var compressor = sync.OnceValue(func() func(http.Handler) http.Handler { return middleware.Compress(5) })

func (p *Page) serveView(v *View) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), p.cfg.Timeout)
		defer cancel()
		req, err := v.request(r.URL, chi.RouteContext(r.Context()))
		if err != nil {
			p.failed(w, r, err)
			return
		}
		show, err := v.Show(ctx, req)
		switch {
		case err != nil:
			p.failed(w, r, OfQuery{err})
		case v.CSV && r.URL.Query().Get("format") == "csv":
			show.(interface{ writeCSV(w http.ResponseWriter) }).writeCSV(w)
		case wantsJSON(r):
			writeJSON(w, show)
		default:
			f := p.frame(w, r, v.Nav)
			f.Title, f.Show, f.View, f.JSON = v.Title, show, v.Name, jsonLink(req)
			if p.cfg.Hub != nil && p.lives(v) && f.May(http.MethodGet, "/events") {
				f.Live = req.Path
				if v.Live != nil {
					f.Shape = v.Live(show).Shape
				}
			}
			p.render(w, http.StatusOK, v.Name, f)
		}
	})
}

// request reads what a view is asked for, and refuses parameters that it does not know: a misspelt filter would show
// what nobody asked for.
func (v *View) request(u *url.URL, rc *chi.Context) (*Request, error) {
	q := u.Query()
	known := append(slices.Clone(v.Query), "format")
	var wrong WrongQuery
	for _, name := range sortedKeys(q) {
		switch value := q.Get(name); {
		case !slices.Contains(known, name):
			wrong = append(wrong, WrongParam{Name: name, Value: value, Message: "the view has no such parameter", Hint: strict.DidYouMean(name, known)})
		case name == "format" && !slices.Contains([]string{"", "json", "html"}, value) && !(v.CSV && value == "csv"):
			want := "json or html"
			if v.CSV {
				want = "json, html or csv"
			}
			wrong = append(wrong, WrongParam{Name: name, Value: value, Message: "expected " + want})
		case name == "format", value == "": // a field of a form that was left empty
			q.Del(name)
		}
	}
	if len(v.Query) == 0 && len(wrong) > 0 {
		return nil, wrong // nothing else can be
	}
	req := &Request{Path: u.EscapedPath(), Params: map[string]string{}, Query: q, wrong: wrong}
	if len(q) > 0 {
		req.Path += "?" + q.Encode()
	}
	for i, key := range rc.URLParams.Keys {
		value, err := url.PathUnescape(rc.URLParams.Values[i])
		if err != nil {
			return nil, fmt.Errorf("%w: %s", ErrNoPage, u.Path)
		}
		req.Params[key] = value
	}
	return req, nil
}

// serveAct checks that the form is one of ours, and does what it says.
func (p *Page) serveAct(a Act) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), p.cfg.Timeout)
		defer cancel()
		r.Body = http.MaxBytesReader(w, r.Body, 8<<20)
		if err := r.ParseForm(); err != nil {
			p.failed(w, r, fmt.Errorf("%w: %v", ErrForm, err))
			return
		}
		if !formIsOurs(r) {
			p.failed(w, r, ErrForm)
			return
		}
		v := View{}
		req, err := v.request(&url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath}, chi.RouteContext(r.Context()))
		if err != nil {
			p.failed(w, r, err)
			return
		}
		req.Form = r.PostForm
		answer, err := a.Serve(ctx, req)
		switch {
		case err != nil:
			p.failed(w, r, err)
		case answer.Template != "":
			f := p.frame(w, r, "")
			f.Title, f.Show, f.View = answer.Title, answer.Show, answer.Template
			p.render(w, http.StatusOK, answer.Template, f)
		default:
			say(w, r, answer.Said)
			http.Redirect(w, r, answer.To, http.StatusSeeOther)
		}
	})
}

func jsonLink(r *Request) string {
	path, _, _ := strings.Cut(r.Path, "?")
	q := maps.Clone(r.Query)
	q.Set("format", "json")
	return path + "?" + q.Encode()
}

// wantsJSON says whether a program asks.
func wantsJSON(r *http.Request) bool {
	if f := r.URL.Query().Get("format"); f != "" {
		return f == "json"
	}
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}

func writeJSON(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // a value of a view: a test encodes each
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(append(body, '\n'))
}

// failed answers an error as a page where a browser asks, else as a problem.
func (p *Page) failed(w http.ResponseWriter, r *http.Request, err error) {
	if wantsJSON(r) || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		p.cfg.Fail(w, err)
		return
	}
	fault := p.cfg.Fault(w, err)
	fault.AsOf = Now()
	f := p.frame(w, r, "")
	f.Title, f.Show, f.View = fault.Title, fault, "error"
	p.render(w, fault.Status, "error", f)
}

// NoPage answers an unknown path to a browser; false: a program asks.
func (p *Page) NoPage(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet || !strings.Contains(r.Header.Get("Accept"), "text/html") || strings.HasPrefix(r.URL.Path, "/v1/") {
		return false
	}
	p.failed(w, r, fmt.Errorf("%w: %s", ErrNoPage, r.URL.Path))
	return true
}
