package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/series"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/groups"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/tags"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/report"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

// fakeDispatcher answers with what the test put in.
type fakeDispatcher struct {
	loading error // the daemon has not read its state
	pull    func(context.Context, dispatcher.PullRequest) (dispatcher.PullReply, error)
	err     error // of everything else
	pulls   sync.Mutex
	pulled  dispatcher.PullRequest // the last one
	renewed dispatcher.RenewRequest
	ended   dispatcher.FinishRequest
	filter  dispatcher.JobFilter
	jobs    []dispatcher.JobRow
	why     dispatcher.WhyRequest
	decided []dispatcher.Decided
	lately  []dispatcher.QueueLately

	resources []dispatcher.ResourceStanding
	asked     string // name of the resource that was asked for
	external  []any  // as it was reported

	claims      []dispatcher.ClaimStanding
	claimFilter dispatcher.ClaimFilter
}

func (f *fakeDispatcher) PullOrPark(ctx context.Context, req dispatcher.PullRequest, park func() func(func() (dispatcher.PullReply, error))) (
	r dispatcher.PullReply, parked bool, err error,
) {
	go park()(func() (dispatcher.PullReply, error) { return f.Pull(ctx, req) })
	return r, true, nil
}

func (f *fakeDispatcher) Pull(ctx context.Context, r dispatcher.PullRequest) (dispatcher.PullReply, error) {
	f.pulls.Lock() // many may come at once
	f.pulled = r
	f.pulls.Unlock()
	if f.pull != nil {
		return f.pull(ctx, r)
	}
	return dispatcher.PullReply{RenewAfter: 60, Leases: []dispatcher.Lease{{
		Lease: "L1", Job: 7, Attempt: 1, Task: 3, Share: "Production/MC", Command: []string{"sh", "-c", "a<b"}, Env: map[string]string{}, Cores: 1, ExpiresIn: 90,
	}}}, nil
}

func (f *fakeDispatcher) Renew(_ context.Context, r dispatcher.RenewRequest) (dispatcher.RenewReply, error) {
	f.renewed = r
	return dispatcher.RenewReply{RenewAfter: 60}, f.err
}

func (f *fakeDispatcher) Finish(_ context.Context, r dispatcher.FinishRequest) (dispatcher.FinishReply, error) {
	f.ended = r
	reply := dispatcher.FinishReply{}
	for _, e := range r.Results {
		reply.Verdicts = append(reply.Verdicts, dispatcher.Verdict{Lease: e.Lease, Verdict: dispatcher.Recorded, JobState: "finished"})
	}
	return reply, f.err
}

// LeaseQueues has a lease at each of two queues, called like them, and one at a queue that is not known.
func (f *fakeDispatcher) LeaseQueues(_ context.Context, leases []string) (map[string]string, error) {
	at := map[string]string{}
	for _, l := range leases {
		if l == "CERN" || l == "BNL" {
			at[l] = l
		} else if l == "unknown" {
			at[l] = ""
		}
	}
	return at, f.err
}

func (f *fakeDispatcher) Loaded(context.Context) error { return f.loading }

func (f *fakeDispatcher) Standing() dispatcher.Standing {
	return dispatcher.Standing{Version: 2, Pools: []explain.PoolStanding{{Pool: "default", Capacity: 100, Shares: []dispatcher.ShareStanding{
		{Place: explain.Place{ID: 1, Path: ""}, Ready: 5, HeldJobs: 3}, {Place: explain.Place{ID: 2, Path: "A", Leaf: true}, Ready: 5, HeldJobs: 3},
	}}}}
}

func (f *fakeDispatcher) Outlook(context.Context) dispatcher.Standing { return f.Standing() }

func (f *fakeDispatcher) ShareSeries(_ context.Context, r dispatcher.SeriesRequest) (dispatcher.ShareSeries, error) {
	return dispatcher.ShareSeries{Share: r.Share, Pool: r.Pool, Points: []series.SharePoint{{At: time.Unix(1e9, 0).UTC(), Target: 2, Held: 1, Ready: 5}}}, f.err
}

func (f *fakeDispatcher) Queues() []dispatcher.QueueStanding {
	return []dispatcher.QueueStanding{
		{Queue: shares.Queue{ID: 1, Name: "CERN", Pool: "default", State: shares.Online, CorePowerMilli: 1000}},
		{Queue: shares.Queue{ID: 2, Name: "BNL", Pool: "default", State: shares.Drain, CorePowerMilli: 1000}},
	}
}

func (f *fakeDispatcher) Job(_ context.Context, id int64) (dispatcher.JobRow, error) {
	return dispatcher.JobRow{ID: id, Task: 3, Share: "A", State: "ready", CreatedAt: time.Unix(1e9, 0).UTC()}, f.err
}

func (f *fakeDispatcher) Jobs(_ context.Context, filter dispatcher.JobFilter) ([]dispatcher.JobRow, error) {
	f.filter = filter
	return f.jobs, f.err
}

func (f *fakeDispatcher) TaskJobs(_ context.Context, filter dispatcher.JobFilter) ([]dispatcher.JobRow, int64, error) {
	f.filter = filter
	if n := len(f.jobs); n > 0 && n >= filter.Limit {
		return f.jobs, f.jobs[n-1].ID, f.err
	}
	return f.jobs, 0, f.err
}

func (f *fakeDispatcher) LeasedJobs(_ context.Context, filter dispatcher.JobFilter) ([]dispatcher.JobRow, int64, error) {
	filter.State = "leased"
	f.filter = filter
	return f.jobs, 0, f.err
}

func (f *fakeDispatcher) QueuesLately(string) []dispatcher.QueueLately { return f.lately }

func (f *fakeDispatcher) Lately(dispatcher.DecidedFilter) dispatcher.Lately {
	return dispatcher.Lately{Items: append([]dispatcher.Decided{}, f.decided...)}
}

func (f *fakeDispatcher) JobLog(_ context.Context, id int64, attempt int) (string, error) {
	return fmt.Sprintf("%d.%d\n", id, attempt), f.err
}

func (f *fakeDispatcher) Resources(_ context.Context, name string) ([]dispatcher.ResourceStanding, error) {
	f.asked = name
	return f.resources, f.err
}

func (f *fakeDispatcher) Claims(_ context.Context, filter dispatcher.ClaimFilter) ([]dispatcher.ClaimStanding, error) {
	f.claimFilter = filter
	return f.claims, f.err
}

func (f *fakeDispatcher) CreateClaim(_ context.Context, c dispatcher.OutsideClaim) (dispatcher.ClaimStanding, error) {
	return dispatcher.ClaimStanding{ID: 7, Key: c.Name, State: "bound", Queue: c.Queue, Node: c.Node, Devices: c.Devices, CreatedAt: time.Unix(1e9, 0).UTC()}, f.err
}

func (f *fakeDispatcher) DeleteClaim(_ context.Context, name string, force bool) (dispatcher.ClaimStanding, error) {
	return dispatcher.ClaimStanding{ID: 7, Key: name, State: map[bool]string{true: "draining", false: "released"}[force], CreatedAt: time.Unix(1e9, 0).UTC()}, f.err
}

func (f *fakeDispatcher) Claim(_ context.Context, id int64) (dispatcher.ClaimStanding, error) {
	return dispatcher.ClaimStanding{ID: id, Key: "0/gpu", State: "pending", CreatedAt: time.Unix(1e9, 0).UTC()}, f.err
}

func (f *fakeDispatcher) ReportExternal(_ context.Context, name, queue string, total, used int64) error {
	f.external = []any{name, queue, total, used}
	return f.err
}

func (f *fakeDispatcher) KillJob(context.Context, int64) (string, error) { return "cancelled", f.err }

// fakeTasks knows one task, 3.
type fakeTasks struct {
	faults    spec.Faults // beside the first, of tasks of many
	err       error
	submitted generator.SubmitRequest
	filter    view.Filter
	verb      string
	with      *spec.Changes
	act       generator.ActRequest
	cloned    generator.CloneRequest
	clone     spec.Spec // what came of it
	lines     int64
}

func (f *fakeTasks) task() (view.Task, error) {
	return view.Task{ID: 3, Name: "t", State: "ready", Times: view.Times{CreatedAt: time.Unix(1e9, 0).UTC()},
		Tagging: view.Tagging{Attributes: map[string]string{}, TaggedBy: view.TaggedBy{Verdict: "explicit"}}}, f.err
}

func (f *fakeTasks) List(context.Context, view.Listing) (view.Listed, error) {
	t, err := f.task()
	return view.Listed{Tasks: []view.Task{t}}, err
}

func (f *fakeTasks) Submit(_ context.Context, r generator.SubmitRequest) (view.Task, error) {
	f.submitted = r
	return f.task()
}

func (f *fakeTasks) AddInputs(_ context.Context, _, offset int64, lines io.Reader) (int64, error) {
	if f.err != nil {
		return 0, f.err
	}
	sc := bufio.NewScanner(lines)
	for sc.Scan() {
		f.lines++
	}
	return offset + f.lines, sc.Err()
}

func (f *fakeTasks) Commit(context.Context, int64) (view.Task, error) { return f.task() }

func (f *fakeTasks) Task(context.Context, int64) (view.Task, error) { return f.task() }

func (f *fakeTasks) Tasks(_ context.Context, filter view.Filter) ([]view.Task, int64, error) {
	f.filter = filter
	t, err := f.task()
	return []view.Task{t}, 3, err
}

func (f *fakeTasks) Say(_ context.Context, verb generator.Verb, _ int64, with *spec.Changes) (generator.Change, error) {
	f.verb = string(verb)
	if with != nil {
		f.with = with
	}
	return generator.Change{}, f.err
}

func (f *fakeTasks) Act(_ context.Context, r generator.ActRequest) (generator.Acted, error) {
	f.act = r
	return generator.Acted{Verb: r.Verb, Tasks: []generator.TaskActed{{Task: 3, Before: "ready", After: "paused", Changed: true}}, Changed: 1}, f.err
}

func (f *fakeTasks) Clone(ctx context.Context, r generator.CloneRequest) (view.Task, error) {
	f.cloned, f.clone = r, spec.Spec{}
	if len(r.Changes) > 0 {
		if err := json.Unmarshal(r.Changes, &f.clone); err != nil {
			return view.Task{}, err
		}
	}
	if r.Check != nil {
		if err := r.Check(ctx, &f.clone); err != nil {
			return view.Task{}, err
		}
	}
	return f.task()
}

func (f *fakeTasks) SubmitMany(_ context.Context, all []generator.SubmitRequest) ([]generator.Submitted, error) {
	out := make([]generator.Submitted, len(all))
	for i, r := range all {
		f.submitted = r
		out[i].Task, _ = f.task()
		if r.Spec.Name == "bad" {
			out[i] = generator.Submitted{Err: append(spec.Faults{{Field: "count", Message: "is missing"}}, f.faults...)}
		}
	}
	return out, f.err
}

func (f *fakeTasks) Prioritise(_ context.Context, id int64, priority int) (generator.PriorityChange, error) {
	return generator.PriorityChange{Task: id, Before: 5, After: priority, Ready: 2}, f.err
}

func (f *fakeTasks) Scale(_ context.Context, id int64, to spec.Scaling) (groups.ScaleChange, error) {
	return groups.ScaleChange{Task: id, Group: to.Group, Role: to.Role, Before: 3, After: to.Replicas, Leased: 6, Draining: 1}, f.err
}

func (f *fakeTasks) Reassign(_ context.Context, r generator.ReassignRequest) (generator.Reassigned, error) {
	return generator.Reassigned{Share: r.Share, Tasks: []generator.TaskReassigned{{Task: 3, From: "B", Moved: true}}}, f.err
}

func (f *fakeTasks) Retag(context.Context, *site.Site, time.Duration) (tags.Retagging, error) {
	return tags.Retagging{Moves: []tags.Retagged{{Old: "A", New: "B", Tasks: 1}}, Unmatched: []tags.NoShare{}}, f.err
}

// fakeSite takes every file.
type fakeSite struct {
	err     error
	applied site.ApplyRequest
	rolled  site.RollbackRequest
	state   shares.QueueState
	later   site.LaterRequest
	ended   string // by whom a later file was taken back
	set     site.SetCapacity
}

func (f *fakeSite) Apply(_ context.Context, r site.ApplyRequest) (site.Applied, error) {
	f.applied = r
	return site.Applied{}, f.err
}

func (f *fakeSite) Load(context.Context) (*site.Site, error) {
	st, err := site.Parse("site.yml", []byte("shares: [{name: A}]\ntags: [{match: {label: managed}, share: A}]\n"+
		"resources: [{name: CERN, capacity: 4}, {name: table, capacity: 8, keyed: true}]\n"))
	if err != nil {
		panic(err)
	}
	st.Number = 2
	return st, f.err
}

func (f *fakeSite) History(context.Context, int64, int) ([]site.Head, error) {
	return []site.Head{{Version: 2}, {Version: 1}}, f.err
}

func (f *fakeSite) Get(ctx context.Context, _ int64) (*site.Site, error) { return f.Load(ctx) }

func (f *fakeSite) File(ctx context.Context, _ int64) (site.File, error) {
	st, err := f.Load(ctx)
	if err != nil {
		return site.File{}, err
	}
	return site.File{Head: st.Head(), Source: st.Source}, nil
}

func (f *fakeSite) Diff(context.Context, int64, int64) (site.Changes, error) {
	return site.Changes{Shares: []shares.Change{}, Queues: []site.QueueChange{}, Rules: []site.RuleChange{},
		Resources: []site.EntryChange{}, ClaimTemplates: []site.EntryChange{}, Webhooks: []site.EntryChange{}, Limits: []site.RuleChange{},
		RetryRules: []site.EntryChange{}, Attempts: []site.EntryChange{}}, f.err
}

func (f *fakeSite) Rollback(_ context.Context, r site.RollbackRequest) (site.Applied, error) {
	f.rolled = r
	return site.Applied{}, f.err
}

func (f *fakeSite) SetQueueState(_ context.Context, _ string, st shares.QueueState) error {
	f.state = st
	return f.err
}

func (f *fakeSite) SetResourceCapacity(_ context.Context, c site.SetCapacity) error {
	f.set = c
	return f.err
}

func (f *fakeSite) Preview(ctx context.Context, _ string, _ []byte) (*site.Site, error) {
	return f.Load(ctx)
}

func (f *fakeSite) ApplyLater(_ context.Context, r site.LaterRequest) (site.Later, error) {
	f.later = r
	return f.oneLater(), f.err
}

func (f *fakeSite) oneLater() site.Later {
	return site.Later{ID: 7, At: time.Unix(2e9, 0).UTC(), State: "waiting", Moves: map[string]string{}, Notes: []string{}}
}

func (f *fakeSite) Later(context.Context, bool) ([]site.Later, error) {
	return []site.Later{f.oneLater()}, f.err
}

func (f *fakeSite) LaterFile(context.Context, int64) (site.LaterFile, error) {
	return site.LaterFile{Later: f.oneLater(), Source: "shares: []\n"}, f.err
}

func (f *fakeSite) CancelLater(_ context.Context, _ int64, by string) (site.Later, error) {
	f.ended = by
	return f.oneLater(), f.err
}

// bench is the API over fakes.
type bench struct {
	t          *testing.T
	dispatcher *fakeDispatcher
	tasks      *fakeTasks
	site       *fakeSite
	server     *server
	handler    http.Handler
}

func newBench(t *testing.T, change ...func(*Config)) *bench {
	b := &bench{t: t, dispatcher: &fakeDispatcher{}, tasks: &fakeTasks{}, site: &fakeSite{}}
	c := Config{
		Dispatcher: b.dispatcher, Work: Work{Tasks: b.tasks, Submissions: b.tasks, Steering: b.tasks, Past: b.tasks}, Site: b.site, Reports: fakeReports{}, Access: fakeAccess{}, Build: "test",
	}
	for _, f := range change {
		f(&c)
	}
	b.server = newServer(c)
	b.handler = b.server.routes()
	return b
}

// call makes a request; header pairs follow the body.
func (b *bench) call(method, path, body string, header ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	return w
}

// problem is the answer as a Problem of that status.
func (b *bench) problem(w *httptest.ResponseRecorder, status int) *wire.Problem {
	b.t.Helper()
	if w.Code != status || w.Header().Get("Content-Type") != wire.ProblemType {
		b.t.Fatalf("got %d %s, want a problem with %d\n%s", w.Code, w.Header().Get("Content-Type"), status, w.Body)
	}
	p := &wire.Problem{}
	if err := json.Unmarshal(w.Body.Bytes(), p); err != nil {
		b.t.Fatal(err)
	}
	if p.Status != status || p.Code == "" || p.Title == "" || p.RequestID == "" {
		b.t.Fatalf("incomplete problem: %s", w.Body)
	}
	return p
}

// fakeReports has every report but one.
type fakeReports struct{}

func (fakeReports) Run(_ context.Context, name, by string, since time.Time) (report.Table, error) {
	if name == "none" {
		return report.Table{}, fmt.Errorf("%w: %q", report.ErrUnknown, name)
	}
	cell := "1"
	return report.Table{Report: report.Report{Name: name, Title: "a report"}, BrokenBy: by, Since: since, At: time.Now(),
		Columns: []report.Column{{Name: "jobs", Numeric: true}, {Name: "share"}}, Rows: [][]*string{{&cell, nil}}}, nil
}

// fakeAccess knows one token.
type fakeAccess struct{}

func (fakeAccess) token() access.Token {
	return access.Token{ID: 1, Name: "alice", Prefix: "divvy_0123456789", Role: access.Submitter, Subject: access.Subject{User: "alice"}, CreatedAt: time.Unix(1e9, 0).UTC(), CreatedBy: "root"}
}

func (f fakeAccess) Create(_ context.Context, n access.New) (access.Made, error) {
	return access.Made{Token: f.token(), Text: "divvy_0123456789_text"}, n.Validate()
}

func (f fakeAccess) List(context.Context, bool) ([]access.Token, error) {
	return []access.Token{f.token()}, nil
}

func (fakeAccess) Audit(_ context.Context, f access.AuditFilter) ([]access.Audited, error) {
	return []access.Audited{{ID: f.Before + 7, At: time.Unix(1e9, 0).UTC(), Who: "root", Role: "admin", What: "task.kill", Object: "3", Before: "running", After: "aborting"}}, nil
}

func (f fakeAccess) AuditAmong(ctx context.Context, af access.AuditFilter, _ int) (access.Looked, error) {
	all, err := f.Audit(ctx, af)
	return access.Looked{Items: all}, err
}

func (f fakeAccess) Revoke(_ context.Context, which, _ string) (access.Token, error) {
	if which != "alice" {
		return access.Token{}, fmt.Errorf("%w: %q", access.ErrNoToken, which)
	}
	return f.token(), nil
}
