package edge

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"go.opentelemetry.io/otel/trace"

	"github.com/divvyhq/divvy/api/panda"
	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/door"
)

const HeaderRequestID = "X-Request-Id"

// Exchange is one request and its answer as the edge sees it: status and size for the log and the metrics, and the
// handler's error, so that it is logged once.
type Exchange struct {
	http.ResponseWriter
	id     string
	status int
	size   int64
	err    error
	hot    *series   // metrics of a hot route; nil: the router knows the route
	ids    [1]string // id, as a header value
	span   trace.Span
	Caller *access.Caller // the caller that Guard has admitted
	edge   *Edge
	r      *http.Request
	began  time.Time
	parked bool
}

// WriteHeader remembers the status.
func (x *Exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes.
func (x *Exchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	n, err := x.ResponseWriter.Write(b)
	x.size += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (x *Exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// exchangeOf finds the exchange inside wrapped writers; it returns nil if there is none.
func exchangeOf(w http.ResponseWriter) *Exchange {
	for {
		switch inner := w.(type) {
		case *Exchange:
			return inner
		case interface{ Unwrap() http.ResponseWriter }:
			w = inner.Unwrap()
		default:
			return nil
		}
	}
}

// ExchangeKey is the key of the exchange in a context.
type ExchangeKey struct{}

// ExchangeIn returns the exchange in the context of huma's handlers, or nil.
func ExchangeIn(ctx context.Context) *Exchange {
	x, _ := ctx.Value(ExchangeKey{}).(*Exchange)
	return x
}

// Around is the outermost layer: request id, metrics, log, recovery from panics. It is one layer because every pull
// goes through it.
func (e *Edge) Around(next http.Handler) http.Handler { return e.aroundOf(nil, next) }

// aroundOf is Around for a route that is known in advance; with nil the router finds the route.
func (e *Edge) aroundOf(hot *series, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &Exchange{ResponseWriter: w, id: requestID(r), hot: hot, began: time.Now(), edge: e}
		x.ids[0] = x.id
		w.Header()[HeaderRequestID] = x.ids[:]
		x.r, x.span = e.traced(r)
		e.metrics.inFlight.Inc()
		defer x.over()
		next.ServeHTTP(x, x.r)
	})
}

// over ends the exchange and recovers a panic of its handler. A parked exchange ends later.
func (x *Exchange) over() {
	p := recover()
	if p == nil && x.parked {
		return
	}
	cut := p != nil && x.edge.panicked(x, p) || x.parked // if it is parked nobody would answer it
	x.edge.metrics.inFlight.Dec()
	x.edge.done(x, x.r, time.Since(x.began))
	if cut {
		panic(http.ErrAbortHandler)
	}
}

// Parker returns the exchange of a request that may be parked, or nil.
func Parker(w http.ResponseWriter) *Exchange {
	if x, ok := w.(*Exchange); ok {
		if _, ok := x.ResponseWriter.(door.Parker); ok {
			return x
		}
	}
	return nil
}

// Park leaves the exchange open when its handler returns, see door.Parker.
func (x *Exchange) Park() (resume func(finish func())) {
	x.parked = true
	goOn := x.ResponseWriter.(door.Parker).Park()
	return func(finish func()) {
		goOn(func() {
			x.parked = false
			defer x.over()
			finish()
		})
	}
}

// panicked answers 500. It returns true if part of an answer was sent already: then the connection must be cut, so
// that the client does not take the part for the whole.
func (e *Edge) panicked(x *Exchange, p any) (cut bool) {
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		return true
	}
	err := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	if x.status != 0 {
		x.status, x.err = http.StatusInternalServerError, err
		return true
	}
	e.Fail(x, err)
	return false
}

// done counts and logs an exchange. Failures of the daemon are logged as errors or warnings, all else at debug.
func (e *Edge) done(x *Exchange, r *http.Request, took time.Duration) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	if x.hot != nil {
		x.hot.observe(x.status, took)
		endSpan(x.span, x, x.hot.method, x.hot.pattern)
	} else {
		route, method := "none", "other"
		if rc := chi.RouteContext(r.Context()); rc != nil && len(rc.RoutePatterns) > 0 && x.status != http.StatusMethodNotAllowed {
			route, method = rc.RoutePattern(), r.Method
		}
		e.metrics.observe(method, route, x.status, took)
		endSpan(x.span, x, method, route)
	}
	level := slog.LevelDebug
	switch {
	case x.status == http.StatusServiceUnavailable:
		level = slog.LevelWarn
	case x.status >= 500:
		level = slog.LevelError
	}
	if !e.log.Enabled(r.Context(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", r.Method), slog.String("path", panda.HideKeys(r.URL.Path)), slog.Int("status", x.status),
		slog.Int64("bytes", x.size), slog.Duration("took", took), slog.String("request_id", x.id), slog.String("remote", r.RemoteAddr),
	}
	if x.err != nil {
		attrs = append(attrs, slog.Any("error", x.err))
	}
	e.log.LogAttrs(r.Context(), level, "request", attrs...)
}

var (
	requestPrefix = func() string {
		var b [6]byte
		_, _ = rand.Read(b[:]) // never fails, by its contract
		return hex.EncodeToString(b[:]) + "-"
	}()
	requestCount atomic.Uint64
)

// requestID returns the caller's X-Request-Id if it is fit for a log, else a new id.
func requestID(r *http.Request) string {
	if id := r.Header.Get(HeaderRequestID); id != "" && len(id) <= 128 {
		for i := 0; i < len(id); i++ {
			if id[i] <= ' ' || id[i] > '~' {
				return newRequestID()
			}
		}
		return id
	}
	return newRequestID()
}

func newRequestID() string {
	var room [32]byte
	return string(strconv.AppendUint(append(room[:0], requestPrefix...), requestCount.Add(1), 36))
}

// Slack is how long after a request's deadline its connection's deadline is, so that the 503 reaches the client.
const Slack = 10 * time.Second

// Extend moves the connection's deadlines to d from now; the server's own deadlines would end a long poll. The read
// deadline counts too, since net/http notices by a read that the client has gone.
func Extend(w http.ResponseWriter, d time.Duration) {
	rc := http.NewResponseController(w)
	until := time.Now().Add(d)
	if err := rc.SetReadDeadline(until); errors.Is(err, http.ErrNotSupported) {
		return // a test's recorder
	}
	_ = rc.SetWriteDeadline(until)
}

// ExtendWrite gives the client d from now to read the answer.
func ExtendWrite(w http.ResponseWriter, d time.Duration) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(d)) // a test's recorder has none
}

// Fail answers err and remembers it for the log.
func (e *Edge) Fail(w http.ResponseWriter, err error) {
	p := problem.Of(err)
	e.Sign(w, p, err)
	w.Header().Set("Content-Type", wire.ProblemType)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client may have gone
}

// Sign puts the request id on p, the error into the exchange, and Retry-After into the header.
func (e *Edge) Sign(w http.ResponseWriter, p *wire.Problem, err error) {
	if x := exchangeOf(w); x != nil {
		p.RequestID, x.err = x.id, err
	}
	if p.RetryAfterS > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.RetryAfterS))
	}
}
