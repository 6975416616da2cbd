package api

import (
	"net/http"

	"github.com/go-chi/chi/v5"
)

// front serves the pilots' routes before the router, through the same edge and guard: the router would copy each
// request to attach its findings. The router has these routes too, for other methods and for chi.Walk.
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

// ServeHTTP passes everything but plain requests of the hot routes to the router.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost && r.URL.RawPath == "" {
		if h := f.hot[r.URL.Path]; h != nil {
			h.ServeHTTP(w, r)
			return
		}
	}
	f.Mux.ServeHTTP(w, r)
}
