package api

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/trace"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/panda"
	"github.com/divvyhq/divvy/api/pilots"
	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/api/web"
	"github.com/divvyhq/divvy/api/web/hub"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/door"
	"github.com/divvyhq/divvy/internal/live"
	"github.com/divvyhq/divvy/internal/logs"
	"github.com/divvyhq/divvy/internal/relay"
)

// Work groups the interfaces to the site's tasks.
type Work struct {
	Tasks       Tasks
	Submissions Submissions
	Steering    Steering
	Past        Past
	// Outputs holds what attempts write while they are followed; the daemon runs its Tend. nil = one of its own.
	Outputs *live.Outputs
}

// Config holds the parts of the API. Dispatcher, Tasks, Steering, Site and Reports are required.
type Config struct {
	Dispatcher Dispatcher
	Work
	Site Site
	// Ready returns why the daemon cannot serve; nil = it always can.
	Ready func(context.Context) error
	// Registry takes the API's metrics and is served at /metrics; nil = one of its own.
	Registry *prometheus.Registry
	Log      *slog.Logger
	// Levels are the levels of Log, for /v1/log; nil = levels without effect.
	Levels *logs.Levels
	// Tracer makes spans of requests and of the work below them; nil = none.
	Tracer trace.Tracer
	// Relay forwards requests to the leader; nil = there is only this daemon.
	Relay *Relay
	// Book holds the tokens; nil = none. Unless Closed, callers without a credential are admitted (see doc.go, 8).
	Book   *access.Book
	Closed bool
	// Outside returns the rules for credentials that others issue, as its files are now; nil = none.
	Outside func() *access.Outside
	// Rates bound the requests of each token.
	Rates edge.Rates
	// Access makes and revokes tokens.
	Access Access
	// Reports answers GET /v1/reports/{name}.
	Reports Reports
	// Pages tells open pages what has changed; the daemon runs its Publish as a background step. nil = pages do not
	// update.
	Pages *hub.Hub
	// Build is the version of the binary, for GET /v1/status.
	Build string
	// Timeout bounds a request without its long poll; 0 = a minute.
	Timeout time.Duration
	// Panda configures PanDA's calls; without its Dispatcher they are not served.
	Panda panda.Config
	// PandaApart moves PanDA's calls from the routes of New to NewPandaServer, which has a listener of its own.
	PandaApart bool
}

const defaultTimeout = time.Minute

type server struct {
	Config
	dispatcher Dispatcher
	log        *slog.Logger
	entrance   access.Entrance
	edge       *edge.Edge
	pilots     *pilots.Calls
	outputs    outputs
	load       *pilots.Load
	timeout    time.Duration
	began      time.Time
	doc        *document
	page       *web.Page
	fixed      map[string][]string // methods of paths that a route with a parameter would match too
}

// New returns the API as one handler. Serve it with NewServer, which sets the deadlines that the routes rely on.
func New(c Config) http.Handler {
	s := newServer(c)
	return s.routes()
}

func newServer(c Config) *server {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Levels == nil {
		c.Levels = logs.NewLevels(slog.LevelInfo)
	}
	if c.Registry == nil {
		c.Registry = prometheus.NewRegistry()
	}
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	if c.Book == nil {
		c.Book = access.NewBook(nil)
	}
	if c.Outputs == nil {
		c.Outputs = live.New(live.Limits{})
	}
	tasks := ownTasks{c.Tasks}
	c.Tasks, c.Submissions, c.Steering, c.Site = tasks, ownSubmissions{c.Submissions, tasks}, ownSteering{c.Steering, tasks}, ownSite{c.Site}
	s := &server{
		Config: c, dispatcher: ownJobs{c.Dispatcher, c.Tasks}, log: c.Log, entrance: access.Entrance{Book: c.Book, Outside: c.Outside, Open: !c.Closed},
		load: pilots.NewLoad(c.Registry), timeout: c.Timeout, began: time.Now(),
	}
	s.edge = edge.New(c.Log, c.Tracer, s.entrance, c.Rates, c.Registry)
	s.pilots = pilots.New(s.edge, s.entrance, s.dispatcher, s.load, s.timeout, (&names{s.dispatcher, s.Site}).withQueues)
	s.outputs = outputs{c.Outputs, c.Relay}
	s.pilots.Outputs = s.outputs
	return s
}

// NewServer returns an HTTP server for a handler of New, with the deadlines of doc.go, 5. It serves hot routes
// without net/http.
func NewServer(h http.Handler, log *slog.Logger) *door.Server {
	s := &door.Server{Server: netServer(h, log)}
	if f, ok := h.(*front); ok {
		s.Hot = f.hot
	}
	return s
}

// NewPandaServer returns an HTTP server with the same deadlines for PanDA's calls that a handler of New keeps apart.
func NewPandaServer(h http.Handler, log *slog.Logger) *http.Server {
	return netServer(h.(*front).apart, log)
}

func netServer(h http.Handler, log *slog.Logger) *http.Server {
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       defaultTimeout,
		WriteTimeout:      defaultTimeout + edge.Slack,
		IdleTimeout:       6 * time.Minute, // longer than the longest long poll, so that pilots keep their connection
		MaxHeaderBytes:    64 << 10,
		ConnContext:       door.WithLane,
	}
	if log != nil {
		s.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	}
	return s
}

// router returns an empty router with the edge around it.
func (s *server) router() *chi.Mux {
	root := chi.NewMux()
	root.Use(s.edge.Around, s.asFixed, middleware.GetHead) // monitoring probes by HEAD
	root.NotFound(func(w http.ResponseWriter, r *http.Request) {
		if s.page == nil || !s.page.NoPage(w, r) {
			s.edge.Fail(w, problem.New(problem.NoRoute, r.URL.Path))
		}
	})
	root.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Allow"] = allowed(root, r.URL.Path)
		s.edge.Fail(w, problem.New(problem.Method, r.Method+" "+r.URL.Path))
	})
	return root
}

func (s *server) routes() http.Handler {
	root := s.router()
	root.Get("/healthz", func(w http.ResponseWriter, _ *http.Request) { edge.Reply(w, wire.Health{Status: "ok"}) })
	root.Get("/readyz", s.ready)
	root.Get(pathLogin, s.login)
	if s.Relay != nil {
		root.Method(http.MethodPost, relay.Path, s.Relay.Serve(s.question))
	}
	apart := root
	if s.PandaApart {
		apart = s.router()
	}
	s.pandaRoutes(apart)
	s.page = s.pageRoutes(root)
	root.Group(func(r chi.Router) {
		r.Use(s.edge.Guard)
		for path, h := range s.pilots.Routes() {
			r.Post(path, h)
		}
		r.Method(http.MethodGet, "/metrics", promhttp.HandlerFor(s.Registry, promhttp.HandlerOpts{}))
		s.doc = &document{edge: s.edge, timeout: s.timeout}
		s.doc.huma = humachi.New(r, s.doc.config())
		s.doc.huma.UseMiddleware(s.doc.carry)
		s.doc.describe()
		known := &names{s.dispatcher, s.Site}
		tasks := &taskCalls{s.doc, known, s.Tasks, s.Submissions, s.Steering, s.Site}
		jobs := &jobCalls{s.doc, known, s.dispatcher, s.Tasks, s.Relay, s.outputs}
		shares := &shareCalls{s.doc, known, s.dispatcher, s.Tasks, s.Site, s.Relay}
		resources := &resourceCalls{s.doc, known, s.dispatcher, s.Tasks, s.Site}
		site := &siteCalls{s.doc, s.Past, s.Site}
		r.Put("/v1/tasks/{id}/inputs", tasks.inputs)
		tasks.taskRoutes()
		tasks.reassignRoutes()
		tasks.tagRoutes()
		jobs.jobRoutes()
		jobs.outputRoutes()
		shares.shareRoutes()
		jobs.explainRoutes()
		shares.queueRoutes()
		shares.stockRoutes()
		s.reportRoutes()
		resources.resourceRoutes()
		resources.claimRoutes()
		site.siteRoutes()
		site.laterRoutes()
		site.whatIfRoutes()
		s.statusRoutes()
		s.logRoutes()
		s.tokenRoutes()
		s.callerRoutes()
		s.doc.tidy()
		r.Get("/openapi.json", s.doc.openapi())
	})
	s.fixed = fixedPaths(root)
	f := s.front(root)
	f.apart = apart
	return f
}

// fixedPaths returns the methods of paths without a parameter that a route with a parameter would match for other
// methods: GET /v1/tasks/batch is no task with the id batch.
func fixedPaths(root *chi.Mux) map[string][]string {
	methods := map[string][]string{}
	_ = chi.Walk(root, func(method, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if !strings.ContainsAny(path, "{*") {
			methods[path] = append(methods[path], method)
		}
		return nil // never fails
	})
	for path, has := range methods {
		if len(allowed(root, path)) <= len(has) {
			delete(methods, path)
		}
	}
	return methods
}

// asFixed refuses a method that a fixed path does not have.
func (s *server) asFixed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		has := s.fixed[r.URL.Path]
		if has == nil || slices.Contains(has, r.Method) || r.Method == http.MethodHead && slices.Contains(has, http.MethodGet) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header()["Allow"] = has
		s.edge.Fail(w, problem.New(problem.Method, r.Method+" "+r.URL.Path))
	})
}

func allowed(routes chi.Routes, path string) (methods []string) {
	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		if routes.Match(chi.NewRouteContext(), m, path) {
			methods = append(methods, m)
		}
	}
	return methods
}

// ready is GET /readyz.
func (s *server) ready(w http.ResponseWriter, r *http.Request) {
	if s.Ready != nil {
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
		defer cancel()
		if err := s.Ready(ctx); err != nil {
			p := problem.New(problem.NotReady, err.Error())
			s.edge.Fail(w, p)
			return
		}
	}
	edge.Reply(w, wire.Health{Status: "ready"})
}
