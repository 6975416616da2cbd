package dispatcher

import (
	"strings"
	"testing"

	"github.com/divvyhq/divvy/shares"
)

// A position is the number of jobs that are ready, not leased by anybody, and before the job in the order of its share,
// whatever kinds of jobs there are.
func TestPosition(t *testing.T) {
	f := newFixture(t, treeT(), slots("q", 200))
	d := f.daemon()
	var jobs []int64
	for k := range 6 {
		jobs = append(jobs, f.enqueue(batch{share: "Prod/MC", n: 10, priority: k * 7 % 4, cores: 1 + k%3})...)
		f.enqueue(batch{share: "Prod/Rep", n: 5, priority: k})
	}
	if _, err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		pull1(t, d, "q")
	}
	// Some are leased by a daemon that this one has not heard of yet.
	f.exec(`INSERT INTO leases (job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority, pilot, node, daemon_id, expires_at, ttl_s)
		SELECT id, 1, id, task_id, share_id, shape_id, (SELECT min(id) FROM queues), 1000, 1, 0, 'other', '', 0, now() + interval '1 h', 60
		FROM jobs WHERE id % 7 = 0 ON CONFLICT DO NOTHING`)
	n := 0
	for _, job := range jobs {
		e, err := d.Explain(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		if e.State != "ready" {
			continue
		}
		n++
		var want int64
		f.scan(&want, `SELECT count(*) FROM jobs j, jobs own WHERE own.id = $1 AND j.share_id = own.share_id AND (j.place, j.id) < (own.place, own.id)
			AND NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id)`, job)
		if e.Position.Before != want || e.Position.More {
			t.Errorf("job %d: %+v, want %d", job, e.Position, want)
		}
	}
	if n < 20 {
		t.Errorf("only %d jobs are ready", n)
	}
}

// However many jobs come before one, and however many of them are leased, so many rows are looked at; and the answer says so.
func TestPositionIsBounded(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 10))
	d := f.daemon()
	first := f.enqueue(batch{share: "A", n: mostLooked + 10})
	if _, err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		job  int
		want Position
	}{{mostCounted, Position{Before: mostCounted, Ready: mostLooked + 10}}, {mostCounted + 1, Position{Before: mostCounted, More: true, Ready: mostLooked + 10}},
		{mostLooked + 9, Position{Before: mostCounted, More: true, Ready: mostLooked + 10}}} {
		e := explained(t, d, first[c.job], func(e Explanation) bool { return e.Position != nil && e.Position.Ready == c.want.Ready })
		if *e.Position != c.want {
			t.Errorf("job %d: %+v, want %+v", c.job, e.Position, c.want)
		}
		if c.want.More && !strings.Contains(e.Summary, "more than 10000 ready jobs of A come before it") {
			t.Errorf("it says %q", e.Summary)
		}
	}
	// Leases of the share that nobody here has heard of, all before the job. It does not claim to be the next one.
	f.exec(`INSERT INTO leases (job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority, pilot, node, daemon_id, expires_at, ttl_s)
		SELECT id, 1, id, task_id, share_id, shape_id, (SELECT min(id) FROM queues), 1000, 1, 0, 'other', '', 0, now() + interval '1 h', 60
		FROM jobs ORDER BY place, id LIMIT $1`, mostLooked+5)
	e, err := d.Explain(t.Context(), first[len(first)-1])
	if err != nil {
		t.Fatal(err)
	}
	if !e.Position.More || e.Gate != GatePriority || !strings.Contains(e.Summary, "more than") {
		t.Errorf("%+v %s: %s", e.Position, e.Gate, e.Summary)
	}
}
