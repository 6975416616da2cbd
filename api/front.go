package api

import (
	"net/http"

	"github.com/go-chi/chi/v5"
)

// front stands before the router and serves the pilots' routes itself, through the same edge and guard: the router
// copies the request to hang its findings on it. The router has these routes too, for their other methods and for
// whoever walks it.
type front struct {
	*chi.Mux
	hot   map[string]http.Handler
	apart http.Handler // PanDA's calls, where they have a listener of their own; else the router
}

func (s *server) front(routes *chi.Mux) *front {
	f := &front{Mux: routes, hot: map[string]http.Handler{}}
	for path, h := range s.pilots.Routes() {
		f.hot[path] = s.edge.Hot(path, s.Relay.tellLeader(h))
	}
	return f
}

// ServeHTTP leaves all that is not plainly one of the hot routes to the router.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost && r.URL.RawPath == "" {
		if h := f.hot[r.URL.Path]; h != nil {
			h.ServeHTTP(w, r)
			return
		}
	}
	f.Mux.ServeHTTP(w, r)
}
