package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"
)

// Times of a stream.
const (
	heartbeat   = 15 * time.Second // something is sent so often, that proxies keep the connection and ends are seen
	writeWithin = 10 * time.Second // a reader takes what it is sent within it, or is sent away
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
	reader, first, err := p.cfg.Hub.subscribe(req.Path, r.Header.Get("Last-Event-ID"), func(ctx context.Context) (Update, time.Time, error) {
		return p.build(ctx, v, req)
	})
	if err != nil {
		p.cfg.Fail(w, fmt.Errorf("%w: %w", ErrTooMany, err))
		return
	}
	defer p.cfg.Hub.leave(reader)
	stream(w, r, p.maySee, reader, first)
}

// maySee says whether who opened a stream may still have it: a session ends, and its token may be revoked.
func (p *Page) maySee(r *http.Request) bool {
	c := p.caller(r)
	return c != nil && p.cfg.May(c, http.MethodGet, "/events") == nil
}

// stream sends a reader's events until it leaves, or may not have them any more: that is asked, of memory, before each is sent.
func stream(w http.ResponseWriter, r *http.Request, may func(*http.Request) bool, reader *reader, first []byte) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // of a proxy that would collect events
	rc := http.NewResponseController(w)
	send := func(text []byte) bool {
		until := time.Now().Add(heartbeat + writeWithin)
		_ = rc.SetReadDeadline(until) // net/http watches for the end of the client with a read
		_ = rc.SetWriteDeadline(time.Now().Add(writeWithin))
		if _, err := w.Write(text); err != nil {
			return false
		}
		return rc.Flush() == nil
	}
	if !send(append([]byte("retry: 2000\n\n"), first...)) {
		return
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case text, ok := <-reader.events:
			if !ok || !may(r) || !send(text) {
				return
			}
		case <-beat.C:
			if !may(r) || !send([]byte(": still here\n\n")) {
				return
			}
		}
	}
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
func (p *Page) build(ctx context.Context, v *View, req *Request) (Update, time.Time, error) {
	show, err := v.Show(ctx, req)
	if err != nil {
		return Update{}, time.Time{}, err
	}
	if v.Live != nil {
		return v.Live(show), show.When(), nil
	}
	html, err := p.fragment(v, req, show)
	return Update{HTML: html}, show.When(), err
}

// lives says whether a view changes while it is open.
func (p *Page) lives(v *View) bool { return v.Live != nil || p.templates[v.Name].Lookup("live") != nil }
