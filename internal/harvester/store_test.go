package harvester

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func count(t *testing.T, db *pgxpool.Pool, sql string) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func no(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWorkers(t *testing.T) {
	db := pgtest.Open(t)
	s, ctx := NewStore(db), t.Context()
	if id, err := s.LastID(ctx, "h"); err != nil || id != 0 {
		t.Fatalf("%d, %v; want 0 before there are any", id, err)
	}
	at := time.Date(2024, 11, 2, 0, 2, 18, 0, time.UTC)
	no(t, s.Update(ctx, "h", []Worker{
		{ID: 7, Queue: "q", Status: "submitted", JobType: "managed", ResourceType: "SCORE", Submitted: &at, Fields: map[string]any{"nCore": 1, "nJobs": 1}},
		{ID: 8, Queue: "q", Status: "submitted"}, {ID: 8, Queue: "q", Status: "running", ResourceType: "MCORE"},
		{ID: 9, Queue: "q", Status: "finished"},
	}))
	no(t, s.Update(ctx, "h", []Worker{{ID: 7, Status: "running", Started: &at, Fields: map[string]any{"nCore": 8}}}))
	no(t, s.Update(ctx, "other", []Worker{{ID: 70, Queue: "q", Status: "running"}}))
	if id, err := s.LastID(ctx, "h"); err != nil || id != 9 {
		t.Errorf("%d, %v; want 9", id, err)
	}
	if known, err := s.PilotStatus(ctx, Said{"h", 7, "started", "wn7"}); err != nil || !known {
		t.Errorf("%t, %v; want a known worker", known, err)
	}
	if known, err := s.PilotStatus(ctx, Said{Harvester: "h", Worker: 700, Status: "started"}); err != nil || known {
		t.Errorf("%t, %v; want an unknown worker", known, err)
	}
	var fields, status string
	var submitted, started time.Time
	err := db.QueryRow(ctx, "SELECT fields::text, pilot_status, submitted_at, started_at FROM harvester_workers WHERE harvester_id = 'h' AND worker_id = 7").
		Scan(&fields, &status, &submitted, &started)
	no(t, err)
	if fields != `{"nCore": 8, "nJobs": 1, "nodeID": "wn7"}` || status != "started" || !submitted.Equal(at) || !started.Equal(at) {
		t.Errorf("worker 7 has %s, %s, %v, %v", fields, status, submitted, started)
	}
	want := []Number{{"h", "q", "", "MCORE", "running", 1}, {"h", "q", "managed", "SCORE", "running", 1}, {"other", "q", "", "", "running", 1}}
	got, err := s.Numbers(ctx)
	no(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
}

// What a Harvester counts itself goes before its workers, for four hours.
func TestReport(t *testing.T) {
	db := pgtest.Open(t)
	s, ctx := NewStore(db), t.Context()
	no(t, s.Update(ctx, "h", []Worker{{ID: 1, Queue: "q", Status: "running"}, {ID: 2, Queue: "other", Status: "idle"}}))
	no(t, s.Report(ctx, "h", "q", []Number{{JobType: "user", ResourceType: "SCORE", Status: "running", N: 5}, {JobType: "user", ResourceType: "SCORE", Status: "submitted", N: 2}}))
	no(t, s.Report(ctx, "h", "q", []Number{{JobType: "user", ResourceType: "SCORE", Status: "running", N: 6}, {JobType: "managed", ResourceType: "MCORE", Status: "ready", N: 1}}))
	want := []Number{{"h", "other", "", "", "idle", 1}, {"h", "q", "managed", "MCORE", "ready", 1}, {"h", "q", "user", "SCORE", "running", 6}}
	got, err := s.Numbers(ctx)
	no(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
	pgtest.Age(t, db, "harvester_worker_stats", "updated_at", 5*time.Hour)
	got, err = s.Numbers(ctx)
	no(t, err)
	if want = []Number{{"h", "other", "", "", "idle", 1}, {"h", "q", "", "", "running", 1}}; !cmp.Equal(want, got) {
		t.Errorf("after five hours %v, want %v", got, want)
	}
	no(t, s.Report(ctx, "h", "q", nil))
	if n := count(t, db, "SELECT count(*) FROM harvester_worker_stats"); n != 0 {
		t.Errorf("%d numbers are left", n)
	}
}

func TestCommands(t *testing.T) {
	db := pgtest.Open(t)
	s, ctx := NewStore(db), t.Context()
	w := Sweep{Queues: []string{"q"}, Statuses: Selection{"running"}, Elements: Selection{All}}
	if n, err := s.Sweep(ctx, w); err != nil || n != 0 {
		t.Errorf("%d, %v; want nobody to be told", n, err)
	}
	no(t, s.Update(ctx, "h", []Worker{{ID: 1, Queue: "q", Status: "running"}, {ID: 2, Queue: "q", Status: "running"}}))
	no(t, s.Report(ctx, "counts", "q", []Number{{Status: "running", N: 1}}))
	no(t, s.Update(ctx, "done", []Worker{{ID: 1, Queue: "q", Status: "finished"}}))
	for range 2 {
		if n, err := s.Sweep(ctx, w); err != nil || n != 2 {
			t.Fatalf("%d, %v; want two Harvesters to be told", n, err)
		}
	}
	first, err := s.Acquire(ctx, "h", 1)
	no(t, err)
	params := json.RawMessage(`{"status": ["running"], "computingSite": ["q"], "submissionHost": [], "computingElement": "ALL"}`)
	want := []Command{{Command: "KILL_WORKERS", Params: params}}
	if diff := cmp.Diff(want, first, cmpopts.IgnoreFields(Command{}, "ID", "CreatedAt")); diff != "" {
		t.Fatalf("first (-want +got):\n%s", diff)
	}
	rest, err := s.Acquire(ctx, "h", 10)
	no(t, err)
	if len(rest) != 1 || rest[0].ID <= first[0].ID {
		t.Errorf("the rest is %v", rest)
	}
	if none, err := s.Acquire(ctx, "h", 10); err != nil || len(none) != 0 {
		t.Errorf("%v, %v; want nothing twice", none, err)
	}
	waits := count(t, db, "SELECT max(id)::int FROM harvester_commands WHERE harvester_id = 'counts'")
	if n, err := s.Acknowledge(ctx, []int64{first[0].ID, int64(waits), 100000}); err != nil || n != 1 {
		t.Errorf("%d, %v; want one: the others were not handed out", n, err)
	}
}

// Messages and figures stand once, and all that is old goes.
func TestForget(t *testing.T) {
	db := pgtest.Open(t)
	s, ctx := NewStore(db), t.Context()
	at := time.Date(2024, 11, 2, 0, 2, 18, 0, time.UTC)
	for range 2 {
		no(t, s.AddDialogs(ctx, "h", []Dialog{{ID: 1, Message: "a", At: at}, {ID: 1, Message: "b", At: at}}))
		no(t, s.AddMetrics(ctx, "h", []Metrics{{Host: "x", At: at, Figures: map[string]any{"rss_mib": 1.5}}}))
	}
	if n := count(t, db, "SELECT count(*) FROM harvester_dialogs WHERE message = 'b'"); n != 1 {
		t.Errorf("%d messages", n)
	}
	no(t, s.Update(ctx, "h", []Worker{{ID: 1, Queue: "q", Status: "finished"}, {ID: 2, Queue: "q", Status: "running"}, {ID: 3, Queue: "q", Status: "finished"}}))
	no(t, s.Report(ctx, "h", "q", []Number{{Status: "running", N: 1}}))
	_, err := s.Sweep(ctx, Sweep{Queues: []string{"q"}})
	no(t, err)
	for table, column := range map[string]string{"harvester_workers": "updated_at", "harvester_worker_stats": "updated_at", "harvester_commands": "created_at"} {
		pgtest.Age(t, db, table, column, 8*24*time.Hour)
	}
	no(t, s.Heartbeat(ctx, Beat{Harvester: "h", Host: "10.0.0.1", User: "alice", Metadata: map[string]any{"sw_version": "1"}}))
	no(t, s.Heartbeat(ctx, Beat{Harvester: "h", Host: "10.0.0.2", User: "alice", Metadata: map[string]any{"commit_stamp": "2"}}))
	for _, table := range []string{"harvester_worker_stats", "harvester_commands", "harvester_dialogs", "harvester_metrics"} {
		if n := count(t, db, "SELECT count(*) FROM "+table); n != 0 {
			t.Errorf("%d rows are left of %s", n, table)
		}
	}
	if n := count(t, db, "SELECT count(*) FROM harvester_workers"); n != 1 {
		t.Errorf("%d workers are left, want the one with the highest id", n)
	}
	if n := count(t, db, `SELECT count(*) FROM harvesters WHERE host = '10.0.0.2' AND metadata = '{"sw_version": "1", "commit_stamp": "2"}'`); n != 1 {
		t.Error("the Harvester is not as it said")
	}
}
