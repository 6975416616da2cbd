package series

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/divvyhq/divvy/internal/pgtest"
)

// waitsOf are sums of waits of a share and queue, or of a user, in an hour and bucket, worked out one by one.
func waitsOf(base time.Time, upto int) (shares, users []string) {
	bounds := []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 43200, 86400, 172800, 604800}
	byShare, byUser := map[string][2]int64{}, map[string][2]int64{}
	for job := 1; job <= upto; job++ {
		if job%7 == 0 || job > 50 || job%11 == 0 { // revoked, a retry, the second attempt
			continue
		}
		granted := base.Add(time.Duration(job*job) * time.Second)
		wait := int64(job*job) + 100 // the task was submitted before the jobs were made
		if job > 25 {
			wait = int64(job * job) // the task is younger
		}
		bucket := 0
		for bucket < len(bounds) && bounds[bucket] <= float64(wait) {
			bucket++
		}
		hour := granted.Truncate(time.Hour).Unix()
		add := func(sums map[string][2]int64, key string) {
			v := sums[key]
			sums[key] = [2]int64{v[0] + 1, v[1] + wait}
		}
		add(byShare, fmt.Sprintf("%d|%d|%d|%d", hour, 1+job%2, job%3, bucket))
		add(byUser, fmt.Sprintf("%d|%s|%d", hour, map[bool]string{true: "ann", false: "bob"}[job <= 25], bucket))
	}
	for _, c := range []struct {
		sums  map[string][2]int64
		lines *[]string
	}{{byShare, &shares}, {byUser, &users}} {
		for key, v := range c.sums {
			*c.lines = append(*c.lines, fmt.Sprintf("%s|%d|%d", key, v[0], v[1]))
		}
		slices.Sort(*c.lines)
	}
	return shares, users
}

// Each job waits once, from the submission of its task to its first grant, whoever adds it up.
func TestWaits(t *testing.T) {
	s := &site{Sampler{DB: pgtest.Open(t)}, t}
	base := time.Now().UTC().Truncate(time.Hour).Add(-6 * time.Hour)
	s.exec("SELECT divvy_extend_jobs(100, 100)")
	s.exec("SELECT divvy_make_history(($1::timestamptz AT TIME ZONE 'UTC')::date + i) FROM generate_series(0, 1) AS i", base)
	s.exec(`INSERT INTO tasks (id, name, user_name, state, spec, committed_at, share_id) OVERRIDING SYSTEM VALUE VALUES
		(1, 'a', 'ann', 'waiting', '{}', $1::timestamptz - interval '100 s', NULL), (2, 'b', 'bob', 'waiting', '{}', $1::timestamptz + interval '1 s', NULL)`, base)
	s.exec(`INSERT INTO job_blocks (low, high, task_id, made_at, share_id, shape_id, priority, max_attempts, again)
		VALUES (1, 25, 1, $1, 1, 1, 0, 3, false), (26, 50, 2, $1, 1, 1, 0, 3, false), (51, 60, 2, $1, 1, 1, 0, 3, true)`, base)
	s.exec(`INSERT INTO history (job, nonce, task, units, granted_at, ended_at, cpu_ms, attempt, share, shape, queue, start_delay_ms, exit_code, memory_mb,
			outcome, state, pilot, node)
		SELECT i, 0, CASE WHEN i <= 25 THEN 1 ELSE 2 END, 0, $1::timestamptz + interval '1 s' * i * i, $1::timestamptz + interval '2 h' + interval '1 min' * i, 0,
			CASE WHEN i % 11 = 0 THEN 2 ELSE 1 END, 1 + i % 2, 1, i % 3, -1, 0, 0, CASE WHEN i % 7 = 0 THEN 'r' ELSE 'f' END, 'f', '', '' FROM generate_series(1, 60) AS i`, base)
	for _, upto := range []int{0, 20, 20, 61} {
		s.exec("UPDATE folded SET seq = 1, at = $1::timestamptz + interval '2 h' + make_interval(mins => $2::int + 1)", base, upto)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if _, err := s.Wait(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		s.skips()
		shares, users := waitsOf(base, upto)
		got := s.lines("SELECT concat_ws('|', extract(epoch FROM hour)::bigint, share_id, queue_id, bucket, jobs, wait_seconds::bigint) FROM wait_hours")
		slices.Sort(got)
		if diff := cmp.Diff(shares, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("waits of shares, up to job %d (-want +got):\n%s", upto, diff)
		}
		got = s.lines("SELECT concat_ws('|', extract(epoch FROM hour)::bigint, user_name, bucket, jobs, wait_seconds::bigint) FROM user_wait_hours")
		slices.Sort(got)
		if diff := cmp.Diff(users, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("waits of users, up to job %d (-want +got):\n%s", upto, diff)
		}
	}
}

// skips: while another daemon adds waits, none are added here, at once.
func (s *site) skips() {
	s.t.Helper()
	tx, err := s.DB.Begin(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(s.t.Context(), "SELECT FROM waited FOR UPDATE"); err != nil {
		s.t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	if n, err := s.Wait(soon); n != 0 || err != nil {
		s.t.Errorf("%d waits were added beside another daemon, %v", n, err)
	}
}
