package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// attempt is a row of report.attempts.
type attempt struct {
	JobID     int64
	Attempt   int
	Share     string
	Queue     string
	Cores     int
	Pilot     string
	ClaimedAt time.Time
	EndedAt   time.Time
	Outcome   string
}

// ended is a row of report.jobs.
type ended struct {
	ID          int64
	TaskID      int64
	Share       string
	State       string
	Attempt     int
	MaxAttempts int
	CreatedAt   time.Time
}

// try is an attempt of a job.
type try struct {
	job     int64
	attempt int
}

// record is what the database says in the end: jobs by id, attempts by job, in order, and since when a job was ready for an attempt where the
// log was told so: for the first one, and where a rule decided.
type record struct {
	jobs     []ended
	attempts map[int64][]attempt
	ready    map[try]time.Time
}

func readRecord(t *testing.T, dsn string) record {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	r := record{attempts: map[int64][]attempt{}, ready: map[try]time.Time{}}
	rows, _ := conn.Query(ctx, "SELECT job_id AS id, task_id, share, state, attempt, max_attempts, created_at FROM report.jobs WHERE ended_at IS NOT NULL ORDER BY 1")
	if r.jobs, err = pgx.CollectRows(rows, pgx.RowToStructByName[ended]); err != nil {
		t.Fatal(err)
	}
	rows, _ = conn.Query(ctx, `SELECT job_id, attempt, share, queue, cores, pilot, claimed_at, ended_at, outcome FROM report.attempts ORDER BY job_id, attempt`)
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[attempt])
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		r.attempts[a.JobID] = append(r.attempts[a.JobID], a)
	}
	rows, _ = conn.Query(ctx, "SELECT (detail ->> 'low')::bigint, (detail ->> 'high')::bigint, (detail ->> 'attempt')::int, at FROM report.ledger WHERE kind = 'enqueued'")
	var low, high int64
	var next int
	var at time.Time
	if _, err := pgx.ForEachRow(rows, []any{&low, &high, &next, &at}, func() error {
		for id := low; id <= high; id++ {
			r.ready[try{id, next}] = at
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var live int
	err = conn.QueryRow(ctx, "SELECT count(*) FROM report.jobs WHERE ended_at IS NULL").Scan(&live)
	if err != nil || live != 0 {
		t.Errorf("%d jobs are left, %v", live, err)
	}
	// Of the time since the postmaster was killed.
	var deadlocks int
	err = conn.QueryRow(ctx, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").Scan(&deadlocks)
	if err != nil || deadlocks != 0 {
		t.Errorf("%d deadlocks, %v: each stops a batch for a second", deadlocks, err)
	}
	return r
}

// letters of the outcomes, as the model has them.
var letters = map[string]string{"finished": "f", "failed": "x", "lost": "l"}

// account checks that every job ended once and why, and returns how many ended how.
func (r record) account(t *testing.T, want int) map[string]int {
	t.Helper()
	if len(r.jobs) != want {
		t.Errorf("%d jobs ended, want %d", len(r.jobs), want)
	}
	n := map[string]int{}
	for _, j := range r.jobs {
		n[j.State]++
		past := r.past(j.ID)
		for _, a := range r.attempts[j.ID] {
			n["attempts "+a.Outcome]++
		}
		finished := len(past) > 0 && past[len(past)-1] == 'f'
		for _, c := range past[:max(0, len(past)-1)] {
			finished = finished && c != 'f'
		}
		switch {
		case len(past) != j.Attempt, len(past) > j.MaxAttempts:
			t.Errorf("job %d is at attempt %d of %d, and has attempts %q", j.ID, j.Attempt, j.MaxAttempts, past)
		case j.State == "finished" && !finished, j.State == "failed" && (finished || len(past) != j.MaxAttempts):
			t.Errorf("job %d is %s after attempts %q of %d", j.ID, j.State, past, j.MaxAttempts)
		case j.State != "finished" && j.State != "failed":
			t.Errorf("job %d is %s: nobody cancelled it", j.ID, j.State)
		}
	}
	return n
}

// past is how the attempts of a job ended; ? for what cannot be.
func (r record) past(job int64) (past string) {
	for i, a := range r.attempts[job] {
		letter := letters[a.Outcome]
		if letter == "" || a.Attempt != i+1 {
			letter = "?"
		}
		past += letter
	}
	return past
}

// complete adds to what the clients saw what they could not see: leases whose pull was never answered, ends of
// leases that ran out, and what became of each job.
func (r record) complete(seen []said) []said {
	heard := map[try]bool{}
	for _, o := range seen {
		if o.verb == pulled {
			heard[try{o.job, o.attempt}] = true
		}
	}
	most := map[int64]int{}
	end := wall()
	for _, j := range r.jobs {
		most[j.ID] = j.MaxAttempts
		seen = append(seen, said{job: j.ID, verb: rest, state: j.State, past: r.past(j.ID), from: end, to: never})
		for _, a := range r.attempts[j.ID] {
			if !heard[try{j.ID, a.Attempt}] {
				seen = append(seen, said{job: j.ID, attempt: a.Attempt, verb: unheard, from: a.ClaimedAt.UnixNano(), to: never,
					lease: fmt.Sprintf("unheard %d.%d", j.ID, a.Attempt)})
			}
			if a.Outcome == "lost" {
				seen = append(seen, said{job: j.ID, attempt: a.Attempt, verb: expired, from: a.EndedAt.UnixNano(), to: never})
			}
		}
	}
	for i := range seen {
		seen[i].most = most[seen[i].job]
	}
	return seen
}

// patient checks that no lease was taken for lost before its time.
func (r record) patient(t *testing.T, seen []said) {
	t.Helper()
	until := map[try]time.Time{}
	for _, o := range seen {
		if o.verb == renewed && o.kept {
			at := time.Unix(0, o.from).Add(leaseTTL)
			if k := (try{o.job, o.attempt}); at.After(until[k]) {
				until[k] = at
			}
		}
	}
	for job, of := range r.attempts {
		for _, a := range of {
			first := a.ClaimedAt.Add(leaseFirst)
			if u := until[try{job, a.Attempt}]; a.Outcome == "lost" && (a.EndedAt.Before(first) || a.EndedAt.Before(u)) {
				t.Errorf("job %d, attempt %d: claimed %s, kept until %s, lost at %s", job, a.Attempt, a.ClaimedAt, u, a.EndedAt)
			}
		}
	}
}
