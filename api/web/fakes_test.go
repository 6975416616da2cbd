package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/lookup"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/report"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/internal/site/file"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/tagging"
)

var at = time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)

// world is what the fakes answer, and what they were told.
type world struct {
	Dispatcher
	standing  []explain.PoolStanding
	queues    []dispatcher.QueueStanding
	lately    []dispatcher.QueueLately
	decided   []dispatcher.Decided
	filter    dispatcher.DecidedFilter
	job       dispatcher.JobRow
	explain   dispatcher.Explanation
	explained int
	jobs      []dispatcher.JobRow
	next      int64
	jobFilter dispatcher.JobFilter
	kinds     []dispatcher.KindQueues
	resources []dispatcher.ResourceStanding
	claims    []dispatcher.ClaimStanding
	log       string
	killed    int64
	err       error
	outlooks  int
	table     report.Table
	asked     []string // of reports
}

func (w *world) Outlook(context.Context) dispatcher.Standing {
	w.outlooks++
	return dispatcher.Standing{At: at, Pools: w.standing}
}
func (w *world) QueuesNow(context.Context) []dispatcher.QueueStanding  { return w.queues }
func (w *world) Job(context.Context, int64) (dispatcher.JobRow, error) { return w.job, w.err }
func (w *world) Output(_ context.Context, job int64, a dispatcher.Attempt) string {
	return fmt.Sprintf("live %d.%d", job, a.Attempt)
}
func (w *world) Run(_ context.Context, name, by string, since time.Time) (report.Table, error) {
	w.asked = append(w.asked, fmt.Sprintf("%s by %q since %s", name, by, time.Since(since).Round(time.Hour)))
	return w.table, w.err
}
func (w *world) JobLog(context.Context, int64, int) (string, error) { return w.log, w.err }
func (w *world) Claim(context.Context, int64) (dispatcher.ClaimStanding, error) {
	return w.claims[0], w.err
}

func (w *world) QueuesLately(_ context.Context, queue string) (all []dispatcher.QueueLately) {
	for _, l := range w.lately {
		if queue == "" || l.Queue == queue {
			all = append(all, l)
		}
	}
	return all
}

func (w *world) DecidedLately(_ context.Context, f dispatcher.DecidedFilter) dispatcher.Lately {
	w.filter = f
	return dispatcher.Lately{Daemon: 3, Last: 9, Since: &at, Items: w.decided}
}

func (w *world) TaskJobs(_ context.Context, f dispatcher.JobFilter) ([]dispatcher.JobRow, int64, error) {
	w.jobFilter = f
	return w.jobs, w.next, w.err
}

func (w *world) TaskQueues(context.Context, int64) ([]dispatcher.KindQueues, error) {
	return w.kinds, w.err
}

func (w *world) Explain(context.Context, int64) (dispatcher.Explanation, error) {
	w.explained++
	return w.explain, w.err
}

func (w *world) Resources(_ context.Context, name string) ([]dispatcher.ResourceStanding, error) {
	if name != "" && !slices.ContainsFunc(w.resources, func(r dispatcher.ResourceStanding) bool { return r.Name == name }) {
		return nil, fmt.Errorf("%w: no resource is called %q", dispatcher.ErrUnknownResource, name)
	}
	return w.resources, w.err
}

func (w *world) Claims(context.Context, dispatcher.ClaimFilter) ([]dispatcher.ClaimStanding, error) {
	return w.claims, w.err
}

func (w *world) KillJob(_ context.Context, id int64) (string, error) {
	w.killed = id
	return "leased", w.err
}

// tasks answer with one task, and note what they are told.
type tasks struct {
	Tasks
	task    view.Task
	listing view.Listing
	listed  view.Listed
	said    string
	err     error
}

func (k *tasks) Task(context.Context, int64) (view.Task, error) { return k.task, k.err }

func (k *tasks) List(_ context.Context, l view.Listing) (view.Listed, error) {
	k.listing = l
	return k.listed, k.err
}

func (k *tasks) Say(_ context.Context, verb generator.Verb, id int64, _ *spec.Changes) (generator.Change, error) {
	k.said = fmt.Sprintf("%s %d", verb, id)
	return generator.Change{Task: id, Verb: verb, Before: "running", After: "paused", Ready: 3}, k.err
}

func (k *tasks) Prioritise(_ context.Context, id int64, priority int) (generator.PriorityChange, error) {
	k.said = fmt.Sprintf("priority %d %d", id, priority)
	return generator.PriorityChange{Task: id, Before: 5, After: priority}, k.err
}

// sites notes the state that a queue is put into.
type sites struct {
	Site
	said string
	got  int // versions
}

// History has versions up to 7.
func (s *sites) History(_ context.Context, before int64, limit int) (all []site.Head, _ error) {
	for n := int64(7); n > 0 && len(all) < limit; n-- {
		if before == 0 || n < before {
			all = append(all, site.Head{Version: n, AppliedAt: at, AppliedBy: "ops"})
		}
	}
	return all, nil
}

// Get has the rules of each version.
func (s *sites) Get(_ context.Context, n int64) (*site.Site, error) {
	s.got++
	return &site.Site{Number: n, Content: file.Content{Rules: []tagging.Rule{{Match: map[string]string{"label": "user"}, Share: "User"},
		{Match: map[string]string{"label": "managed", "working_group": "(AP|GP)_.*"}, Share: "Prod/MC"}}}}, nil
}

func (s *sites) SetQueueState(_ context.Context, name string, state shares.QueueState) error {
	s.said = name + " " + string(state)
	return nil
}

// audits answer with what they have, and note what they were asked for.
type audits struct {
	looked access.Looked
	filter access.AuditFilter
	among  int
}

func (a *audits) AuditAmong(_ context.Context, f access.AuditFilter, among int) (access.Looked, error) {
	a.filter, a.among = f, among
	return a.looked, nil
}

// stage is a page over fakes.
type stage struct {
	t     testing.TB
	world *world
	tasks *tasks
	sites *sites
	audit *audits
	page  *Page
	mux   *chi.Mux
}

var errNone = errors.New("there is none")

func newStage(t testing.TB) *stage {
	t.Helper()
	s := &stage{t: t, world: &world{}, tasks: &tasks{}, sites: &sites{}, audit: &audits{}, mux: chi.NewMux()}
	s.page = New(Config{Dispatcher: s.world, Tasks: s.tasks, Steering: s.tasks, Site: s.sites, Audit: s.audit, Reports: s.world, Build: "test", Book: access.NewBook(nil),
		Caller: func(*http.Request) *access.Caller { return &access.Caller{Name: "anybody", Role: access.Admin} },
		May:    func(*access.Caller, string, string) error { return nil },
		Fault: func(_ http.ResponseWriter, err error) Fault {
			return Fault{Status: faultStatus(err), Title: "No", Code: "no", Detail: err.Error()}
		},
		Fail: func(w http.ResponseWriter, err error) { http.Error(w, err.Error(), faultStatus(err)) }})
	for _, r := range s.page.Routes() {
		s.mux.Method(r.Method, r.Path, r.Serve)
	}
	return s
}

func faultStatus(err error) int {
	switch {
	case errors.Is(err, ErrQuery):
		return http.StatusUnprocessableEntity
	case errors.Is(err, ErrForm):
		return http.StatusForbidden
	case errors.Is(err, ErrNoPage), errors.Is(err, errNone), errors.Is(err, dispatcher.ErrUnknownResource), errors.Is(err, lookup.ErrNoAttempt), errors.Is(err, report.ErrUnknown):
		return http.StatusNotFound
	}
	return http.StatusInternalServerError
}

// get is a page, checked.
func (s *stage) get(path string) *element {
	s.t.Helper()
	w := s.call(http.MethodGet, path, nil, "text/html")
	if w.Code != http.StatusOK {
		s.t.Fatalf("GET %s: %d %s", path, w.Code, w.Body)
	}
	return checkPage(s.t, w.Body.String())
}

func (s *stage) call(method, path string, form url.Values, accept string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	r.Header.Set("Accept", accept)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.AddCookie(&http.Cookie{Name: formCookie, Value: strings.Repeat("ab", 16)})
	}
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, r)
	return w
}

// post sends a form of this page; fields are names and values.
func (s *stage) post(path string, fields ...string) *httptest.ResponseRecorder {
	form := url.Values{formField: {strings.Repeat("ab", 16)}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return s.call(http.MethodPost, path, form, "text/html")
}
