package web

import (
	"bytes"
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed templates
var templateFiles embed.FS

// policy keeps the page to its own origin: no inline script or style, no frame, no other host.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// frame is what the layout shows around a view; a view's template has its value as .Show.
type frame struct {
	Title string
	View  string // name of the template
	Show  Dated
	Nav   string // path of the entry that is current
	Path  string // of this page, with its query
	JSON  string // link to the same as JSON; empty: there is none
	Live  string // topic of its events; empty: it stands still
	Shape string // see hub.Update
	Token string // for forms: {{template "token" .}}
	Said  string // by the act that led here
	Login bool   // there is a session to end
	Build string
	Links []navLink

	may func(method, pattern string) bool
}

// May says whether who looks has the right to a route of the page: templates leave out what would be refused.
func (f *frame) May(method, pattern string) bool { return f.may == nil || f.may(method, pattern) }

type navLink struct {
	Path, Name string
	Current    bool
}

// navigation lists the entries at the top of each page.
var navigation = []navLink{{Path: "/", Name: "Shares"}, {Path: "/queues", Name: "Queues"}, {Path: "/tasks", Name: "Tasks"},
	{Path: "/resources", Name: "Resources"}, {Path: "/decisions", Name: "Decisions"}, {Path: "/changes", Name: "Changes"}, {Path: "/reports", Name: "Reports"}}

// Heading is the value's own title, or the view's.
func (f *frame) Heading() string {
	if t, ok := f.Show.(Titled); ok {
		return t.Heading()
	}
	return f.Title
}

// Age is how old the value is, in seconds.
func (f *frame) Age() int { return int(max(0, time.Since(f.Show.When()).Seconds()) + 0.5) }

func (p *Page) frame(w http.ResponseWriter, r *http.Request, nav string) *frame {
	f := &frame{Nav: nav, Path: r.URL.RequestURI(), Token: formToken(w, r), Said: said(w, r), Build: p.cfg.Build, Login: p.session(r) != nil}
	if c := p.caller(r); c != nil {
		f.may = func(method, pattern string) bool { return p.cfg.May(c, method, pattern) == nil }
	}
	for _, l := range navigation {
		if _, there := p.byPath[l.Path]; there && f.May(http.MethodGet, l.Path) {
			l.Current = l.Path == nav
			f.Links = append(f.Links, l)
		}
	}
	return f
}

// readTemplates parses each view's template with the layout and the parts that all may use.
func (p *Page) readTemplates() map[string]*template.Template {
	layout := template.Must(template.New("layout").Funcs(p.functions()).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html"))
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		panic(err)
	}
	all := map[string]*template.Template{}
	for _, file := range names {
		if name := strings.TrimSuffix(path.Base(file), ".html"); name != "layout" && name != "parts" {
			all[name] = template.Must(template.Must(layout.Clone()).ParseFS(templateFiles, file))
		}
	}
	return all
}

// render writes a page at once, so that one that fails is not half out.
func (p *Page) render(w http.ResponseWriter, status int, name string, f *frame) {
	var b bytes.Buffer
	if err := p.templates[name].ExecuteTemplate(&b, "layout.html", f); err != nil {
		p.cfg.Fail(w, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

func (p *Page) fragment(v *View, req *Request, show Dated) (string, error) {
	var b bytes.Buffer
	err := p.templates[v.Name].ExecuteTemplate(&b, "live", &frame{Title: v.Title, View: v.Name, Show: show, Nav: v.Nav, Path: req.Path, Live: req.Path})
	return b.String(), err
}
