package panda

import "net/http"

// either is the method of calls that PanDA's own programs make by GET and by POST.
const either = "GET or POST"

// endpoint is a call of the new API.
type endpoint struct {
	method string
	path   string // below /api/v1
	takes  params
	serve  func(*http.Request, args) envelope
}

// handler reads the arguments and answers the envelope. A body that cannot be read is 500, all else that was dealt
// with 200: callers know it so.
func (e endpoint) handler() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if e.method != either && r.Method != e.method {
			bad("expecting %s, received %s", e.method, r.Method).write(w)
			return
		}
		a, err := decode(w, r)
		if err != nil {
			envelope{Message: err.Error(), Status: http.StatusInternalServerError}.write(w)
			return
		}
		if a, err = e.takes.read(a); err != nil {
			bad("%s", err).write(w)
			return
		}
		e.serve(r, a).write(w)
	}
}

// called reads the arguments and serves a call.
func (e endpoint) called(r *http.Request, a args) envelope {
	a, err := e.takes.read(a)
	if err != nil {
		return bad("%s", err)
	}
	return e.serve(r, a)
}

// byPost, byGet and byBoth are calls by their methods.
func byPost(path string, takes params, serve func(*http.Request, args) envelope) endpoint {
	return by(http.MethodPost, path, takes, serve)
}

func byGet(path string, takes params, serve func(*http.Request, args) envelope) endpoint {
	return by(http.MethodGet, path, takes, serve)
}

func byBoth(path string, takes params, serve func(*http.Request, args) envelope) endpoint {
	return by(either, path, takes, serve)
}

func by(method, path string, takes params, serve func(*http.Request, args) envelope) endpoint {
	return endpoint{method, path, takes, serve}
}
