package wire

import "net/http"

// Either is the method of calls that PanDA's own programs make by GET and by POST.
const Either = "GET or POST"

// Endpoint is a call of the new API.
type Endpoint struct {
	Method string
	Path   string // below /api/v1
	Takes  Params
	serve  func(*http.Request, Args) Envelope
}

// Handler reads the arguments and answers the envelope. A body that cannot be read is 500, all else that was dealt
// with 200: callers know it so.
func (e Endpoint) Handler() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if e.Method != Either && r.Method != e.Method {
			Bad("expecting %s, received %s", e.Method, r.Method).Write(w)
			return
		}
		a, err := Decode(w, r)
		if err != nil {
			Envelope{Message: err.Error(), Status: http.StatusInternalServerError}.Write(w)
			return
		}
		if a, err = e.Takes.Read(a); err != nil {
			Bad("%s", err).Write(w)
			return
		}
		e.serve(r, a).Write(w)
	}
}

// Called reads the arguments and serves a call.
func (e Endpoint) Called(r *http.Request, a Args) Envelope {
	a, err := e.Takes.Read(a)
	if err != nil {
		return Bad("%s", err)
	}
	return e.serve(r, a)
}

// ByPost is a call that is made by POST.
func ByPost(path string, takes Params, serve func(*http.Request, Args) Envelope) Endpoint {
	return By(http.MethodPost, path, takes, serve)
}

// ByGet returns an endpoint for GET.
func ByGet(path string, takes Params, serve func(*http.Request, Args) Envelope) Endpoint {
	return By(http.MethodGet, path, takes, serve)
}

// ByBoth returns an endpoint for Either.
func ByBoth(path string, takes Params, serve func(*http.Request, Args) Envelope) Endpoint {
	return By(Either, path, takes, serve)
}

// By returns an endpoint for a method.
func By(method, path string, takes Params, serve func(*http.Request, Args) Envelope) Endpoint {
	return Endpoint{method, path, takes, serve}
}
