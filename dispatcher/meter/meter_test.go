package meter

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/dispatcher/tally"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
	policy "github.com/divvyhq/divvy/shares/retry"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// gone are the metrics of the dispatcher before that have no mechanism any more, and why.
var gone = map[string]string{
	"divvy_grant_batches_contended_total":  "one daemon decides: nobody interferes with a batch",
	"divvy_grant_conflicts_total":          "one daemon decides: no job is leased by another",
	"divvy_grant_outdated_total":           "a grant is decided with all entries before it known",
	"divvy_decision_records_dropped_total": "there are no records beside the log, which drops nothing",
}

// reworded are those whose help says how it is now, and why.
var reworded = map[string]string{
	"divvy_attempts_ended_total": "no outcome is unknown: a batch in doubt is read",
	"divvy_decide_seconds":       "there is no lock",
	"divvy_lock_holders":         "the leader looks, not the eldest",
	"divvy_report_batch_leases":  "renewals are no statement",
}

// added are new.
var added = []string{"divvy_fold_lag_batches", "divvy_fold_lag_seconds", "divvy_queue_pilots_alive", "divvy_queue_pilots_wanted"}

// Names, kinds, labels, buckets and help are what dashboards and alerts know, but for what is said above.
func TestMetricsAreKept(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/metrics.golden")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(line, "\t")
		if gone[name] == "" {
			want = append(want, strings.TrimSuffix(line, "\n"))
		}
	}
	seen := map[string]bool{}
	for _, m := range slices.Concat(standings, counts) {
		bounds := make([]string, len(m.bounds))
		for i, b := range m.bounds {
			bounds[i] = fmt.Sprint(b)
		}
		name := "divvy_" + m.name
		if seen[name] || gone[name] != "" {
			t.Errorf("%s is there twice, or it should be gone", name)
		}
		seen[name] = true
		if !slices.Contains(added, name) {
			got = append(got, strings.Join([]string{name, []string{"gauge", "counter", "histogram"}[m.kind], strings.Join(m.labels, ","), strings.Join(bounds, " "), m.help}, "\t"))
		}
	}
	if len(got)+len(added) != len(seen) {
		t.Errorf("%d metrics of %d are old", len(got), len(seen))
	}
	slices.Sort(want)
	slices.Sort(got)
	for i := range min(len(want), len(got)) {
		name, _, _ := strings.Cut(want[i], "\t")
		if cut := strings.LastIndex(want[i], "\t") + 1; reworded[name] != "" && want[i] != got[i] && strings.HasPrefix(got[i], want[i][:cut]) {
			want[i] = got[i]
			delete(seen, name)
		}
	}
	for name := range reworded {
		if seen[name] {
			t.Errorf("%s has the help that it had", name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("before (-), now (+):\n%s", diff)
	}
}

var start = time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)

// plant is a machine with two queues and shares top/a, top/b and c.
type plant struct {
	t    *testing.T
	m    *machine.Machine
	site shares.Version
}

func newPlant(t *testing.T) *plant {
	t.Helper()
	node := func(name string, children ...shares.Spec) shares.Spec {
		return shares.Spec{Name: name, Plan: shares.DefaultPlan(), Children: children}
	}
	tree, err := shares.Build([]shares.Spec{node("top", node("mid", node("a"), node("b"))), node("c")})
	if err != nil {
		t.Fatal(err)
	}
	id := shares.ShareID(0)
	tree.SetIDs(func(string) shares.ShareID { id++; return id }) // top 1, mid 2, a 3, b 4, c 5
	four := 4
	p := &plant{t, machine.New(machine.Config{Making: time.Second, LocalWait: time.Minute}), shares.Version{Number: 7, Tree: tree, Queues: []shares.Queue{
		{ID: 1, Name: "q", Pool: "default", State: shares.Online, Slots: &four, CorePowerMilli: 1000, MaxIO: 100},
		{ID: 2, Name: "r", Pool: "default", State: shares.Online, CorePowerMilli: 1000, DenyShares: []string{"c"}}}}}
	p.site = p.site.WithIO()
	p.apply(entry.Tick{Now: start}, entry.Adopted{Number: 7, Site: &p.site}, entry.Shaped{Shape: 1, Need: job.Requirements{Cores: 1, Resources: map[string]int64{shares.IO: 5}}},
		entry.Polled{Queue: 1, Is: true}, entry.Polled{Queue: 2, Is: true},
		entry.Enqueued{Task: 1, Share: 3, Shape: 1, Low: 1, High: 5, Attempt: 1}, entry.Enqueued{Task: 2, Share: 5, Shape: 1, Low: 6, High: 6, Attempt: 1})
	for range 3 {
		if d := p.m.Decide(machine.Pull{Queue: 1, Slot: job.Slot{Cores: 1}, Most: 1, Pilot: "p", Node: "n", Nonce: 1, Until: start, At: start}); d.Verdict != machine.Given {
			t.Fatalf("%+v", d)
		}
	}
	p.apply(entry.Expected{Share: 4, Shape: 1, Jobs: 9}, entry.Expected{Share: 5, Shape: 1, Jobs: 1})
	return p
}

func (p *plant) apply(entries ...entry.Entry) {
	p.t.Helper()
	for _, e := range entries {
		if err := p.m.Apply(e); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *plant) moment() explain.Moment {
	return explain.Moment{View: p.m.View(), At: start, Pulls: pulls{},
		Holes: map[shares.QueueID]retry.BlackHoleStanding{2: {}}}
}

// pulls are two pilots at the first queue, and three pulls that wait at the second.
type pulls struct{ explain.Pulls }

func (pulls) PullsAt(q shares.QueueID) (pilots, waiting int) {
	return map[shares.QueueID]int{1: 2}[q], map[shares.QueueID]int{2: 3}[q]
}

// lines are the lines of a meter with these names, without divvy_, sorted; labels in the order of their names.
func (m *Meter) told(t *testing.T, names ...string) (all []string) {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(m)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		name := strings.TrimPrefix(f.GetName(), "divvy_")
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		for _, one := range f.GetMetric() {
			line := name
			for _, l := range one.GetLabel() {
				line += " " + l.GetValue()
			}
			switch {
			case one.GetHistogram() != nil:
				line += fmt.Sprintf(" = %d of %v", one.GetHistogram().GetSampleCount(), one.GetHistogram().GetSampleSum())
			default:
				line += fmt.Sprint(" = ", math.Round(1000*(one.GetGauge().GetValue()+one.GetCounter().GetValue()))/1000)
			}
			all = append(all, line)
		}
	}
	slices.Sort(all)
	return all
}

func want(t *testing.T, got []string, lines ...string) {
	t.Helper()
	slices.Sort(lines)
	if diff := cmp.Diff(lines, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

// What a machine says of jobs, shares and queues is what metrics show.
func TestStandings(t *testing.T) {
	t.Parallel()
	p, m := newPlant(t), New(QueueShares)
	s := Look(p.moment(), QueueShares)
	s.Daemons, s.Lag = 2, &fold.Lag{Batches: 40, Time: 1500 * time.Millisecond}
	s.Resources, s.Claims = map[string]Resource{"gpu": {8, 3, 2, 1}}, map[string]int64{"bound": 4}
	s.Gangs = map[string]Gang{"q": {2, 16}}
	m.Show(s)
	want(t, m.told(t, "site_version", "daemons", "jobs", "stock_gaps", "fold_lag_batches", "fold_lag_seconds", "share_ready_jobs", "share_held_units", "share_queue_held_jobs",
		"queue_slots", "queue_held_cores", "queue_held_jobs", "queue_ready_jobs", "queue_pilots", "queue_waiting_pulls", "queue_black_hole", "gang_held_slots",
		"gang_held_cores", "resource_capacity_units", "resource_held_units", "resource_wanted_units", "resource_kept_units", "resource_claims", "queue_io_max_bytes_per_second", "queue_io_held_bytes_per_second"),
		"queue_io_max_bytes_per_second q = 100000", "queue_io_held_bytes_per_second q = 15000",
		"site_version = 7", "daemons = 2", "fold_lag_batches = 40", "fold_lag_seconds = 1.5", "jobs ready = 3", "jobs leased = 3", "jobs to_come = 10",
		"stock_gaps = 3", // of b at q and r, of c at q
		"share_ready_jobs default top = 3", "share_ready_jobs default top/mid = 3", "share_ready_jobs default top/mid/a = 3", "share_ready_jobs default top/mid/b = 0", "share_ready_jobs default c = 0",
		"share_held_units default top = 2", "share_held_units default top/mid = 2", "share_held_units default top/mid/a = 2", "share_held_units default top/mid/b = 0", "share_held_units default c = 1",
		"share_queue_held_jobs q top/mid/a = 2", "share_queue_held_jobs q c = 1",
		"queue_slots q = 4", "queue_held_cores q = 3", "queue_held_cores r = 0", "queue_held_jobs q = 3", "queue_held_jobs r = 0", "queue_ready_jobs q = 3", "queue_ready_jobs r = 3",
		"queue_pilots q = 2", "queue_pilots r = 0", "queue_waiting_pulls q = 0", "queue_waiting_pulls r = 3", "queue_black_hole r = 1",
		"gang_held_slots q = 2", "gang_held_slots r = 0", "gang_held_cores q = 16", "gang_held_cores r = 0",
		"resource_capacity_units gpu = 8", "resource_held_units gpu = 3", "resource_wanted_units gpu = 2", "resource_kept_units gpu = 1", "resource_claims bound = 4")
}

// Which shares have lines is as the configuration says.
func TestShareMetrics(t *testing.T) {
	t.Parallel()
	p := newPlant(t)
	for of, n := range map[ShareMetrics]int{NoShares: 0, TopShares: 3, AllShares: 5, QueueShares: 5} {
		m := New(of)
		m.Show(Look(p.moment(), of))
		if got := m.told(t, "share_target_units"); len(got) != n {
			t.Errorf("%q: %v", of, got)
		}
		if cells := m.told(t, "share_queue_held_jobs"); (len(cells) > 0) != (of == QueueShares) {
			t.Errorf("%q: %v", of, cells)
		}
	}
}

// Attempts count at their queue, their share and those above it, as far as these have lines; lines of what is gone go with it.
func TestEnds(t *testing.T) {
	t.Parallel()
	p, m := newPlant(t), New(TopShares)
	none, err := shares.Build(nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Count(func(t *tally.Tally) { t.End(3, 1, entry.Finished) }) // before anybody knows what has lines
	m.Show(Snapshot{Site: shares.Version{Tree: none}})            // no site yet
	m.Count(func(t *tally.Tally) { t.End(3, 1, entry.Finished) })
	m.Show(Look(p.moment(), TopShares))
	m.Count(func(t *tally.Tally) {
		t.End(4, 2, entry.Returned)
		t.End(5, 9, entry.Lost)
	})
	names := []string{"attempts_ended_total", "queue_attempts_ended_total", "share_attempts_ended_total"}
	all := []string{"attempts_ended_total cancelled = 0", "attempts_ended_total failed = 0", "attempts_ended_total finished = 2", "attempts_ended_total lost = 1", "attempts_ended_total revoked = 1",
		"share_attempts_ended_total finished top = 2", "share_attempts_ended_total finished top/mid = 2", "share_attempts_ended_total revoked top = 1", "share_attempts_ended_total revoked top/mid = 1"}
	want(t, m.told(t, names...), append(slices.Clone(all), "share_attempts_ended_total lost c = 1", "queue_attempts_ended_total finished q = 2", "queue_attempts_ended_total revoked r = 1")...)
	tree, err := shares.Build([]shares.Spec{{Name: "top", Plan: shares.DefaultPlan(), Children: []shares.Spec{{Name: "mid", Plan: shares.DefaultPlan()}}}})
	if err != nil {
		t.Fatal(err)
	}
	m.Show(Snapshot{At: start, Site: shares.Version{Number: 8, Tree: tree, Queues: p.site.Queues[:1]}})
	want(t, m.told(t, names...), append(slices.Clone(all), "queue_attempts_ended_total finished q = 2")...)
}

// What is counted adds up; what has a line from the beginning has 0.
func TestCounts(t *testing.T) {
	t.Parallel()
	p, m := newPlant(t), New(AllShares)
	zero := m.told(t)
	for _, line := range []string{"leases_expired_total = 0", "pulls_refused_total no_job = 0", "grant_seconds = 0 of 0", "report_batch_leases renew = 0 of 0", "attempts_ended_total lost = 0"} {
		if !slices.Contains(zero, line) {
			t.Errorf("no line %s", line)
		}
	}
	m.Show(Look(p.moment(), AllShares))
	for range 2 {
		m.Count(func(t *tally.Tally) {
			t.Append(0.5, 8, 3)
			t.Decide(0.25)
			t.Pull(2)
			t.Renew(70)
			t.Age(30)
			t.Wait("default", 3, 60)
			t.Wait("default", 9, 5) // no such share
			t.Refuse(gate.Pool)
			t.Judge(policy.Judgement{Rule: "oom", Over: true})
			t.Close(entry.Returned, true, 12)
			t.Expired, t.Passed, t.Ordered = t.Expired+1, t.Passed+2, t.Ordered+3
		})
	}
	names := make([]string, 0, len(counts))
	for _, c := range counts[3:] {
		names = append(names, c.name)
	}
	want(t, m.told(t, names...),
		"grant_seconds = 2 of 1", "grant_batch_jobs = 2 of 16", "report_batch_leases end = 2 of 6", "report_batch_leases renew = 2 of 140", "decide_seconds = 2 of 0.5", "pull_wait_seconds = 2 of 4",
		"lease_renew_age_seconds = 2 of 60", "job_wait_seconds default top/mid/a = 2 of 120", "job_wait_seconds default  = 2 of 10", "pulls_refused_total no_job = 0", "pulls_refused_total pool_limit = 2",
		"attempts_judged_total oom failed = 2", "reclaims_closed_total confirmed = 2", "reclaim_lost_unit_seconds_total = 24", "leases_expired_total = 2", "shares_passed_unmade_total = 4", "reclaim_orders_total = 6")
}

// What is too much has no lines, and it is said how much that is.
func TestLinesAreBounded(t *testing.T) {
	t.Parallel()
	specs, queues := make([]shares.Spec, mostShares+3), make([]shares.Queue, mostQueues+2)
	for i := range specs {
		specs[i] = shares.Spec{Name: fmt.Sprint("s", i), Plan: shares.DefaultPlan()}
	}
	tree, err := shares.Build(specs)
	if err != nil {
		t.Fatal(err)
	}
	id := shares.ShareID(0)
	tree.SetIDs(func(string) shares.ShareID { id++; return id })
	s := Snapshot{At: start, Site: shares.Version{Number: 1, Tree: tree}, Pools: []explain.PoolStanding{{Pool: "p"}}, Cells: make([]Cell, mostCells+4)}
	for i := range specs {
		s.Pools[0].Shares = append(s.Pools[0].Shares, explain.ShareStanding{Place: explain.Place{Pool: "p", Path: specs[i].Name, Depth: 1}})
	}
	for i := range queues {
		queues[i] = shares.Queue{ID: shares.QueueID(i + 1), Name: fmt.Sprint("q", i)}
		s.Queues = append(s.Queues, explain.QueueStanding{Queue: queues[i]})
	}
	for i := range s.Cells {
		s.Cells[i].Share = fmt.Sprint("s", i)
	}
	s.Site.Queues = queues
	m := New(QueueShares)
	m.Show(s)
	for _, last := range []int64{1, 2} {
		m.Count(func(t *tally.Tally) {
			for i := range specs {
				t.End(shares.ShareID(i+1), shares.QueueID(min(i, len(queues)-1)+1), entry.Finished)
				t.Wait("p", shares.ShareID(i+1), 1)
			}
		})
		got := map[string]int{}
		for _, line := range m.told(t) {
			name, _, _ := strings.Cut(line, " ")
			got[name]++
		}
		for name, n := range map[string]int{"share_held_units": mostShares, "queue_held_jobs": mostQueues, "share_queue_held_jobs": mostCells,
			"share_attempts_ended_total": mostEndShares, "queue_attempts_ended_total": mostEndQueues, "job_wait_seconds": mostWaitShares + 1} {
			if got[name] != n {
				t.Errorf("%s has %d lines at look %d, want %d", name, got[name], last, n)
			}
		}
	}
	want(t, m.told(t, "metric_lines_left_out"), "metric_lines_left_out shares = 3", "metric_lines_left_out queues = 2", "metric_lines_left_out share_queues = 4",
		fmt.Sprintf("metric_lines_left_out attempts = %d", mostShares+3-mostEndShares+mostQueues+2-mostEndQueues), fmt.Sprintf("metric_lines_left_out job_waits = %d", mostShares+3-mostWaitShares))
}

// Ours have lines while nobody holds them; a lock that is held and waited for is seen.
func TestLocks(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t)
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if err := pg.Lock(t.Context(), tx, pg.LockPurge, 3); err != nil {
		t.Fatal(err)
	}
	locks, err := Locks(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	m := New(NoShares)
	s := Look(newPlant(t).moment(), NoShares)
	m.Show(s)
	if got := m.told(t, "lock_holders"); len(got) != 0 {
		t.Errorf("nobody looked, and there is %v", got)
	}
	s.Locks = locks
	m.Show(s)
	got := m.told(t, "lock_holders")
	if len(got) != len(pg.LockNames()) || !slices.Contains(got, "lock_holders purge = 1") || !slices.Contains(got, "lock_holders fold = 0") {
		t.Errorf("%v", got)
	}
	want(t, m.told(t, "lock_wait_seconds")[:1], "lock_wait_seconds account = 0")
}
