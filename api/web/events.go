package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/api/web/hub"
)

// events is GET /events?of=PATH: the changes of a view for as long as its page is open.
func (p *Page) events(w http.ResponseWriter, r *http.Request) {
	v, req, err := p.viewAt(r.URL.Query().Get("of"))
	if err != nil {
		p.cfg.Fail(w, err)
		return
	}
	if p.cfg.Hub == nil || !p.lives(v) {
		p.cfg.Fail(w, fmt.Errorf("%w: the view %s does not change while it is open", ErrNoPage, req.Path))
		return
	}
	err = p.cfg.Hub.Serve(w, r, req.Path, p.maySee, func(ctx context.Context) (hub.Update, time.Time, error) { return p.build(ctx, v, req) })
	if err != nil {
		p.cfg.Fail(w, fmt.Errorf("%w: %w", ErrTooMany, err))
	}
}

// maySee says whether who opened a stream may still have it: a session ends, and its token may be revoked.
func (p *Page) maySee(r *http.Request) bool {
	c := p.caller(r)
	return c != nil && p.cfg.May(c, http.MethodGet, "/events") == nil
}

// viewAt finds the view of a link, with its parameters.
func (p *Page) viewAt(link string) (*View, *Request, error) {
	u, err := url.Parse(link)
	if err != nil || u.Host != "" || u.Path == "" {
		return nil, nil, fmt.Errorf("%w: of is %q, expected the path of a view such as /queues", ErrNoPage, link)
	}
	rc := chi.NewRouteContext()
	if !p.paths.Match(rc, http.MethodGet, u.Path) {
		return nil, nil, fmt.Errorf("%w: %s", ErrNoPage, u.Path)
	}
	v := p.byPath[rc.RoutePattern()]
	req, err := v.request(u, rc)
	if err == nil {
		err = req.wrong.err()
	}
	return v, req, err
}

// build is one round of a view for all that have it open.
func (p *Page) build(ctx context.Context, v *View, req *Request) (hub.Update, time.Time, error) {
	show, err := v.Show(ctx, req)
	if err != nil {
		return hub.Update{}, time.Time{}, err
	}
	if v.Live != nil {
		return v.Live(show), show.When(), nil
	}
	html, err := p.fragment(v, req, show)
	return hub.Update{HTML: html}, show.When(), err
}

// lives says whether a view changes while it is open.
func (p *Page) lives(v *View) bool { return v.Live != nil || p.templates[v.Name].Lookup("live") != nil }
