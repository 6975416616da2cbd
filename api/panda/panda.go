package panda

import (
	"log/slog"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/api/panda/harvesters"
	"github.com/divvyhq/divvy/api/panda/statistics"
	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/internal/access"
)

// Config configures PanDA's API. Dispatcher and Tasks are required.
type Config struct {
	Dispatcher Dispatcher
	Tasks      Tasks
	// Jobs and Work serve statistics; Jobs and Workers, Harvester; Jobs, users' scripts. Calls that lack theirs do
	// not exist.
	Jobs    Jobs
	Work    statistics.Work
	Workers harvesters.Workers
	// Sandboxes stores files that clients upload for their jobs; without it these calls do not exist.
	Sandboxes Sandboxes
	Log       *slog.Logger
	// Known, Submissions, Steering and Site serve scripts that submit and steer tasks; without them these calls do
	// not exist.
	Known       Known
	Submissions Submissions
	Steering    Steering
	Site        Site
	// Callers decides who is admitted. Without a Book everyone is, as the caller of the context. /trf/ needs no
	// caller.
	Callers access.Entrance
	// Anonymous admits everyone, with any credential or none.
	Anonymous bool
	// Gate knows the pilots of queues; nil = every queue is for all.
	Gate Gate
	// URL is where pilots download their payload script, such as https://divvy.example.org:25443; empty = the URL of
	// the request.
	URL string
	// Transforms is a folder of payload scripts, served at /trf/; empty = only runShell.
	Transforms string
	// Wait bounds how long a pull waits for a job; 0 = 20 s.
	Wait time.Duration
	// Lease is how long the lease of an attempt lasts from each update; 0 = 100 minutes, three heartbeats of a pilot.
	Lease time.Duration
	// Timeout bounds a request without its wait; 0 = a minute.
	Timeout time.Duration
}

// Defaults of Config.
const (
	defaultWait    = 20 * time.Second
	defaultLease   = 100 * time.Minute
	defaultTimeout = time.Minute
)

// server holds the routes, and the calls of pilots, Harvesters, scripts and monitors.
type server struct {
	Config
	pilots     *pilots
	tasks      tasks
	jobs       jobs
	statistics statistics.Calls
	uploads    *uploads // the uploads in memory
}

// pilots serves pilots, and Harvesters for their pilots, in both generations.
type pilots struct {
	Config
	tasks      names
	nodes      seen
	harvesters harvesters.Calls
}

// The calls about tasks and about jobs.
type (
	tasks struct{ Config }
	jobs  struct{ Config }
)

// below says how the packages below are called.
func (s Config) below() wire.Below { return wire.Below{Timeout: s.Timeout, Log: s.Log} }

// Routes adds the routes of both generations, /trf/ and /cache/ to a router.
func Routes(root chi.Router, c Config) {
	s := newServer(c)
	root.Group(func(r chi.Router) {
		if s.Callers.Book != nil {
			r.Use(s.guard)
		}
		s.oldRoutes(r)
		for _, version := range []string{"/api/v1", "/api/latest"} {
			for _, c := range s.calls() {
				r.HandleFunc(version+c.Path, c.Handler())
			}
			if s.Sandboxes != nil {
				r.HandleFunc(version+uploadPath, s.upload)
			}
			r.HandleFunc(version+"/*", notHere)
		}
	})
	s.trfRoutes(root)
}

// calls returns the calls of the new API.
func (s *server) calls() []wire.Endpoint {
	return slices.Concat(s.pilots.calls(), s.tasks.calls(), s.pilots.harvesters.Endpoints(), s.jobs.calls(), s.statistics.Endpoints(), s.systemCalls(), s.fileCalls())
}

func newServer(c Config) *server {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	c.Callers.Open = c.Callers.Open || c.Anonymous
	set(&c.Wait, defaultWait)
	set(&c.Lease, defaultLease)
	set(&c.Timeout, defaultTimeout)
	c = c.bound()
	return &server{Config: c, tasks: tasks{c}, jobs: jobs{c}, uploads: newUploads(),
		pilots:     &pilots{Config: c, harvesters: harvesters.Calls{Below: c.below(), Workers: c.Workers, Jobs: c.Jobs}},
		statistics: statistics.Calls{Below: c.below(), Jobs: c.Jobs, Work: c.Work}}
}
