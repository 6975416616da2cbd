package dispatcher

import "testing"

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
