//go:build chaos

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// result is a row of docs/faults.csv, of one play.
type result struct {
	Fault      string `json:"fault"`
	What       string `json:"what"`
	Seed       uint64 `json:"seed"`
	Jobs       int    `json:"jobs"`
	Lost       int    `json:"lost"`        // results that a pilot was told of as recorded, and that the tables do not have
	Double     int    `json:"double"`      // jobs with two leases at a time, or with another attempt after they had finished
	RecoveryMS int64  `json:"recovery_ms"` // from the end of the fault until every daemon had leased a job and recorded its end
	Failed     bool   `json:"failed"`
}

// note adds the result to the file of DIVVY_FAULTS.
func (r result) note(t *testing.T) {
	r.Failed = t.Failed()
	addTo(t, "DIVVY_FAULTS", r)
}

// addTo adds a row of a table to the file that a variable names, if it does.
func addTo(t *testing.T, variable string, row any) {
	t.Helper()
	name := os.Getenv(variable)
	if name == "" {
		return
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := json.NewEncoder(file).Encode(row); err != nil {
		t.Fatal(err)
	}
}

// judge recounts everything from the tables and holds it against what pilots were told.
func (c *chaosPlay) judge(t *testing.T, audit *auditor, f fault) result {
	c.verdict(t, audit)
	atRest(t, c.dsn)
	r := readRecord(t, c.dsn)
	told := c.history.list()
	took, silent := c.recovery(told)
	for _, s := range silent {
		t.Error(s)
	}
	return result{Fault: f.name, What: f.what, Seed: c.seed, Jobs: c.total, Lost: r.lost(t, told), Double: r.double(t, c.leaps), RecoveryMS: took.Milliseconds()}
}

// lost counts results that were told recorded and that the tables do not have.
func (r record) lost(t *testing.T, told []said) (n int) {
	t.Helper()
	letter := map[string]byte{"finished": 'f', "failed": 'x'}
	for _, o := range told {
		if o.verb != finished || o.unknown || o.verdict != "recorded" {
			continue
		}
		if past := r.past(o.job); o.attempt > len(past) || past[o.attempt-1] != letter[o.outcome] {
			if n++; n <= 5 {
				t.Errorf("job %d: attempt %d was told recorded as %s, and is %q in the tables", o.job, o.attempt, o.outcome, past)
			}
		}
	}
	return n
}

// double counts jobs that ran twice by our fault: attempts that overlap in time, or one after a finished one. Where the
// database's clock leapt its times say nothing of overlaps, which the history of each lease then has to show alone.
func (r record) double(t *testing.T, leaps bool) (n int) {
	t.Helper()
	for job, all := range r.attempts {
		for i, a := range all[1:] {
			if before := all[i]; !leaps && a.ClaimedAt.Before(before.EndedAt) || before.Outcome == "finished" {
				if n++; n <= 5 {
					t.Errorf("job %d: attempt %d was leased at %s, the one before ended %s at %s", job, a.Attempt, a.ClaimedAt, before.Outcome, before.EndedAt)
				}
			}
		}
	}
	return n
}

// recovery is how long it took, when nothing was wrong any more, until each daemon had leased a job to a pull and
// recorded an end, both answered since then; and which of them did not. Many pilots wait with a pull that began when some
// daemons were well again: those count too, but none from before the fault.
func (c *chaosPlay) recovery(told []said) (longest time.Duration, silent []string) {
	for _, l := range c.links {
		for _, v := range []verb{pulled, finished} {
			first := int64(never)
			for _, o := range told {
				if o.verb == v && o.daemon == l.url && !o.unknown && o.from >= c.struck && o.to >= c.healed && (v == pulled || o.verdict == "recorded") {
					first = min(first, o.to)
				}
			}
			if first == never {
				silent = append(silent, fmt.Sprintf("the daemon at %s did not serve a %s any more", l.url, v))
				continue
			}
			longest = max(longest, time.Duration(first-c.healed))
		}
	}
	return longest, silent
}

// restCounts are sums that must agree when nothing runs any more.
var restCounts = map[string]string{
	"accounting": `WITH a AS (
			SELECT count(*) AS n, sum(s.cores * (floor(extract(epoch FROM greatest(h.ended_at, h.granted_at)) * 1000)
				- floor(extract(epoch FROM h.granted_at) * 1000))) * 0.001 AS slot_seconds FROM history h JOIN shapes s ON s.id = h.shape
		), u AS (
			SELECT sum(jobs) AS n, sum(slot_seconds) AS slot_seconds FROM report.usage_hourly
		)
		SELECT format('%s attempts of %s slot seconds, the usage says %s of %s', a.n, a.slot_seconds, u.n, u.slot_seconds)
		FROM a, u WHERE (a.n, a.slot_seconds) IS DISTINCT FROM (u.n, u.slot_seconds)`,
	"attempts": `SELECT format('attempt %s of job %s is there %s times', attempt, job, count(*)) FROM history GROUP BY job, attempt HAVING count(*) > 1`,
	"coverage": `SELECT format('task %s has %s jobs of %s places, from %s to %s', task_id, count(*), count(DISTINCT index), min(index), max(index))
		FROM report.jobs GROUP BY task_id HAVING count(*) <> count(DISTINCT index) OR max(index) - min(index) + 1 <> count(*)`,
	"claims": `SELECT format('claim %s is %s with %s sharers', id, state, sharers) FROM claims WHERE sharers <> 0 OR state <> 'released'`,
	"chain": `SELECT format('batch %s follows %s, and %s is before it', seq, after, before) FROM (
			SELECT seq, after, lag(seq) OVER w AS last, lag(id) OVER w AS before FROM batches WINDOW w AS (ORDER BY seq)
		) b WHERE last IS NOT NULL AND (seq <> last + 1 OR after <> before)`,
	"turns": `SELECT format('job %s, batch %s: attempt %s %s behind attempt %s %s', job, seq, attempt, kind, last, was) FROM (
			SELECT job, seq, attempt, kind, lag(attempt) OVER w AS last, lag(kind) OVER w AS was FROM report.ledger
			WHERE kind IN ('granted', 'ended') WINDOW w AS (PARTITION BY job ORDER BY seq, entry)
		) e WHERE CASE kind WHEN 'granted' THEN was = 'granted' OR attempt <> coalesce(last, 0) + 1 ELSE was IS DISTINCT FROM 'granted' OR attempt <> last END`,
	"history": `SELECT format('job %s, attempt %s: the log says %s, the tables %s', job, attempt, coalesce(l.outcome, 'nothing'), coalesce(h.outcome::text, 'nothing'))
		FROM (SELECT job, attempt, outcome FROM report.ledger WHERE kind = 'ended') l FULL JOIN history h USING (job, attempt)
		WHERE l.outcome IS DISTINCT FROM h.outcome::text`,
}

// heldCounts are further sums that must agree in every snapshot.
var heldCounts = map[string]string{
	"units": fmt.Sprintf(`SELECT format('%%s licences of %d are held', sum(units)) FROM report.resource_holdings WHERE resource = 'licence'
		HAVING sum(units) > %[1]d`, chaosLicences),
	"sharers": `SELECT format('claim %s has %s sharers, %s leases', c.id, c.sharers, count(h.job))
		FROM claims c LEFT JOIN jobs j ON c.id = ANY (j.claims) LEFT JOIN held h ON h.job = j.id
		GROUP BY c.id HAVING c.sharers <> count(h.job)`,
}

// atRest checks the tables when all daemons have stopped.
func atRest(t *testing.T, dsn string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for name, sql := range restCounts {
		rows, err := conn.Query(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		wrong, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, w := range wrong[:min(5, len(wrong))] {
			t.Errorf("%s: %s", name, w)
		}
	}
}
