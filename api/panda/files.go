package panda

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/internal/sandbox"
)

// Sandboxes keeps what panda-client uploads for jobs; *sandbox.Store is one.
type Sandboxes interface {
	Put(ctx context.Context, owner, name string, content []byte) error
	Find(ctx context.Context, owner string, size, checksum int64) (name string, err error)
	Open(ctx context.Context, name string) (*sandbox.File, error)
}

var _ Sandboxes = (*sandbox.Store)(nil)

const (
	cachePath  = "/cache/"
	uploadPath = "/file_server/upload_cache_file"

	// maxUploads bounds the uploads that are in memory, of each user one; maxTransfer how long one file may take on its way.
	maxUploads  = 16
	maxTransfer = 5 * time.Minute
)

// fileCalls returns the calls of the file server that read their arguments as all calls do.
func (s *server) fileCalls() []wire.Endpoint {
	if s.Sandboxes == nil {
		return nil
	}
	return []wire.Endpoint{wire.ByPost("/file_server/validate_cache_file", wire.Params{"file_size": wire.Integer | wire.Needed, "checksum": wire.Integer | wire.Needed}, s.findFile)}
}

// findFile finds a file that a client need not upload again: the host that the client reached, and the name.
func (s *server) findFile(r *http.Request, a wire.Args) wire.Envelope {
	ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
	defer cancel()
	name, err := s.Sandboxes.Find(ctx, wire.CallerOf(ctx).Known(), a.Integer("file_size"), a.Integer("checksum"))
	switch {
	case errors.Is(err, sandbox.ErrNone):
		return wire.Envelope{Success: true, Message: "NOT FOUND"}
	case err != nil:
		s.Log.Warn("validate_cache_file", "error", err)
		return wire.Bad(wire.TryAgain)
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	return wire.Envelope{Success: true, Message: "FOUND:" + host + ":" + name}
}

// upload is POST file_server/upload_cache_file, a form with the file.
func (s *server) upload(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		wire.Bad("expecting %s, received %s", http.MethodPost, r.Method).Write(w)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxTransfer)
	defer cancel()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(maxTransfer)) // if it cannot be set, the deadline of all requests holds
	_ = control.SetWriteDeadline(time.Now().Add(maxTransfer + s.Timeout))
	over, ok := s.uploads.begin(ctx, wire.CallerOf(ctx).Known())
	if !ok {
		wire.Bad(wire.TryAgain).Write(w)
		return
	}
	defer over()
	name, content, err := formFile(w, r)
	if err == nil {
		err = s.Sandboxes.Put(ctx, wire.CallerOf(ctx).Known(), name, content)
	}
	switch {
	case err == nil:
		wire.Good(nil).Write(w)
	case errors.Is(err, sandbox.ErrInvalid), errors.Is(err, sandbox.ErrForeign), errors.Is(err, sandbox.ErrFull):
		wire.Bad("%s", err).Write(w)
	default:
		s.Log.Warn("upload_cache_file", "name", name, "error", err)
		wire.Bad(wire.TryAgain).Write(w)
	}
}

// uploads lets maxUploads run at once, one for each user, so that a slow upload delays its own user only.
type uploads struct {
	all chan struct{}

	mu sync.Mutex
	of map[string]*userUploads
}

// userUploads counts the uploads of a user that run or wait.
type userUploads struct {
	turn chan struct{}
	n    int
}

func newUploads() *uploads {
	return &uploads{all: make(chan struct{}, maxUploads), of: map[string]*userUploads{}}
}

// begin waits until a user's upload may run; over ends it. It returns false if ctx is done.
func (u *uploads) begin(ctx context.Context, user string) (over func(), ok bool) {
	u.mu.Lock()
	own := u.of[user]
	if own == nil {
		own = &userUploads{turn: make(chan struct{}, 1)}
		u.of[user] = own
	}
	own.n++
	u.mu.Unlock()
	leave := func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if own.n--; own.n == 0 {
			delete(u.of, user)
		}
	}
	for i, slots := range []chan struct{}{own.turn, u.all} {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			if i > 0 {
				<-own.turn
			}
			leave()
			return nil, false
		}
	}
	return func() { <-u.all; <-own.turn; leave() }, true
}

// formFile reads the part called file of a form. The file's name is the last part of the path that the client sends.
func formFile(w http.ResponseWriter, r *http.Request) (name string, content []byte, err error) {
	invalid := func(format string, args ...any) (string, []byte, error) {
		return "", nil, fmt.Errorf("%w: %s", sandbox.ErrInvalid, fmt.Sprintf(format, args...))
	}
	r.Body = http.MaxBytesReader(w, r.Body, sandbox.MaxSize+64<<10)
	form, err := r.MultipartReader()
	if err != nil {
		return invalid("the body must be multipart/form-data with a part called file")
	}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return invalid("no part called file in the form")
		}
		if err != nil {
			return invalid("%s", err)
		}
		if part.FormName() != "file" {
			continue
		}
		content, err := io.ReadAll(part)
		if large := new(http.MaxBytesError); errors.As(err, &large) {
			return invalid("more than %d bytes", sandbox.MaxSize)
		}
		if err != nil {
			return invalid("%s", err)
		}
		return part.FileName(), content, nil
	}
}

// cacheRoutes serves the files. As in PanDA it needs no token, since payloads have none. File names hold a random
// UUID.
func (s *server) cacheRoutes(root chi.Router) {
	if s.Sandboxes == nil {
		return
	}
	root.Get(cachePath+"{name}", s.fetch)
	root.Head(cachePath+"{name}", s.fetch)
}

// fetch is GET /cache/<name>.
func (s *server) fetch(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), maxTransfer)
	defer cancel()
	f, err := s.Sandboxes.Open(ctx, chi.URLParam(r, "name"))
	switch {
	case errors.Is(err, sandbox.ErrNone):
		http.Error(w, fmt.Sprintf("no file of this name here: unused files are deleted after %d days", sandbox.Unused/(24*time.Hour)), http.StatusNotFound)
		return
	case err != nil:
		s.Log.Warn("a sandbox could not be read", "error", err)
		w.Header().Set("Retry-After", "5")
		http.Error(w, wire.TryAgain, http.StatusServiceUnavailable)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Length", strconv.FormatInt(f.Size, 10))
	h.Set("X-Content-Type-Options", "nosniff")
	if r.Method == http.MethodHead {
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(maxTransfer))
	if err := f.CopyTo(ctx, w); err != nil && ctx.Err() == nil {
		s.Log.Warn("a sandbox was not sent to its end", "error", err)
		panic(http.ErrAbortHandler) // so that the reader does not take a part for the whole
	}
}
