package dispatcher

import (
	"testing"

	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// What a page asks of the database is bounded, whatever there is: 200,000 ready jobs of a task in one share, a third of them
// leased, and 100,000 that have ended.
func TestPageReadsAreBounded(t *testing.T) {
	pgtest.Long(t, "makes half a million rows")
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	f.exec(`INSERT INTO tasks (id, name, user_name, state, share_id, shape_id, spec, n_jobs, n_generated) OVERRIDING SYSTEM VALUE VALUES (7, 't', 'ann', 'running', 1, 1, '{}', 300000, 300000)`)
	f.exec(`INSERT INTO jobs (task_id, share_id, shape_id, place, priority, max_attempts, idx, state)
		SELECT 7 + i % 3 / 2, 1, 1 + i % 2, 0, 0, 3, i, 'ready' FROM generate_series(1, 200000) AS i`)
	f.exec(`INSERT INTO leases (job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority, pilot, node, daemon_id, expires_at, ttl_s)
		SELECT id, 1, id, task_id, share_id, shape_id, 1, 1000, 1, 0, 'p', 'n', 0, now() + interval '1 h', 60 FROM jobs WHERE idx <= 66666`)
	f.exec(`INSERT INTO ended_jobs (id, task_id, share_id, shape_id, state, priority, attempt, max_attempts, idx, created_at, ended_at)
		SELECT 1000000 + i, 7, 1, 1, CASE WHEN i % 1000 = 0 THEN 'failed' ELSE 'finished' END, 0, 1, 3, i, now() - interval '1 h', now() - i % 3000 * interval '1 s'
		FROM generate_series(1, 100000) AS i`)
	f.exec(`INSERT INTO attempts (job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority, pilot, node, outcome, claimed_at, ended_at)
		SELECT id, 1, id, task_id, share_id, shape_id, 1, 1000, 1, 0, 'p', 'n', state, created_at, ended_at FROM ended_jobs`)
	f.rangesAnew()
	f.exec("ANALYZE jobs, leases, ended_jobs, attempts, tasks")
	var low, last, ended int64
	f.scan(&low, "SELECT min(id) FROM jobs")
	f.scan(&last, "SELECT max(id) FROM jobs")
	f.scan(&ended, "SELECT min(id) FROM ended_jobs")
	page := func(state string, after int64) map[string]any {
		most := mostLookedFor
		if state == "" {
			most = 51
		}
		return map[string]any{"task": int64(7), "state": state, "after": after, "n": 51, "most": most}
	}
	position := map[string]any{"share": 1, "shapes": []int32{1, 2}, "places": []int64{minPlace, minPlace}, "ids": []int64{0, 0}, "place": 0, "job": last, "looks": mostLooked}
	for name, c := range map[string]struct {
		verb string
		args map[string]any
		most float64 // blocks
	}{
		"a task's jobs":            {"list_task_jobs", page("", 0), 2000},
		"later ones":               {"list_task_jobs", page("", last-1000), 2000},
		"those that run":           {"list_task_jobs", page("leased", 0), 12_000},
		"those that run, few":      {"list_task_jobs", page("leased", low+100_000), 12_000},
		"those that wait":          {"list_task_jobs", page("ready", 0), 12_000},
		"those that failed":        {"list_task_jobs", page("failed", 0), 12_000},
		"those that finished":      {"list_task_jobs", page("finished", 0), 12_000},
		"a job":                    {"get_job", map[string]any{"job": last}, 60},
		"a job that has ended":     {"get_job", map[string]any{"job": ended}, 60},
		"its attempts":             {"list_attempts", map[string]any{"job": ended}, 60},
		"what it wrote":            {"job_log", map[string]any{"job": ended, "attempt": 0}, 60},
		"a job, to explain it":     {"explain_job", map[string]any{"job": last}, 60},
		"its position":             {"explain_position", position, 6 * mostLooked},
		"kinds of a task's jobs":   {"task_kinds", map[string]any{"task": int64(7), "most": mostKinds}, 4000},
		"how long the next waited": {"waited", map[string]any{"jobs": []int64{low, 0}, "shares": []int32{1, 1}, "shapes": []int32{1, 2}}, 150},
		"how fast attempts ended":  {"explain_ends", map[string]any{"within_s": endsWithin.Seconds(), "rows": endsRows, "moves": endsMoves, "first": firstEndLane, "last": firstEndLane + nEndLanes - 1}, 2000},
	} {
		got := f.buffers(c.verb, c.args)
		t.Logf("%s: %v blocks", name, got)
		if got > c.most {
			t.Errorf("%s: %v blocks are read, want %v at most", name, got, c.most)
		}
	}
}
