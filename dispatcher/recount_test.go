package dispatcher

import (
	"testing"

	"github.com/divvyhq/divvy/shares"
)

// Counters that somebody has spoilt, and a lease that somebody has deleted, are put right under a daemon that works: it starts
// anew, what is ready is given again, and the limits hold.
func TestCorrect(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 4))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 10})
	gone := pull1(t, d, "q")
	pull1(t, d, "q")
	if wrong, err := Recount(t.Context(), f.pool); err != nil || len(wrong) != 0 {
		t.Fatalf("before: %+v %v", wrong, err)
	}
	if n, err := Correct(t.Context(), f.pool, f.load, nil); err != nil || n != 0 {
		t.Fatalf("corrected %d of nothing: %v", n, err)
	}
	f.exec("DELETE FROM leases WHERE job_id = $1", gone.Job)
	f.exec("INSERT INTO counters VALUES (4711, 1, 0, 0, 5, 0, 0)")
	wrong, err := Recount(t.Context(), f.pool)
	if err != nil || len(wrong) != 3 { // one more ready, one less held, and the made-up row
		t.Fatalf("%+v %v", wrong, err)
	}
	if n, err := Correct(t.Context(), f.pool, f.load, nil); err != nil || n != 3 {
		t.Fatalf("corrected %d: %v", n, err)
	}
	f.recount()
	f.agrees(d)
	for range 3 { // beside the one lease that there is
		pull1(t, d, "q")
	}
	noJob(t, d, "q")
	f.recount()
	f.agrees(d)
}

// Limits of which more is free than there is are computed anew, under a daemon that works by them.
func TestRelimit(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 2))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 10})
	pull1(t, d, "q")
	f.exec("UPDATE limits SET free = free + 8000")
	if err := Relimit(t.Context(), f.pool, f.load, nil); err != nil {
		t.Fatal(err)
	}
	f.refreshed(d)
	pull1(t, d, "q")
	noJob(t, d, "q")
	f.recount()
}

// Sharers that are not as many as the leases are counted anew; a claim that nobody holds any more can end then.
func TestCorrectClaims(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 4))
	f.exec(`INSERT INTO resource_claims (task_id, key, template, linger_s, state, sharers) VALUES (1, 'held', '{}', 1, 'bound', 5), (1, 'free', '{}', 1, 'bound', 2), (1, 'right', '{}', 1, 'pending', 0);
		INSERT INTO shapes (key, cores, memory_mb, disk_mb, walltime_s, labels, queues) VALUES ('k', 1, 1, 1, 1, '{}', '{}')`)
	f.enqueue(batch{share: "A", n: 1})
	f.exec("UPDATE jobs SET claims = ARRAY[(SELECT id FROM resource_claims WHERE key = 'held')]")
	f.exec(`INSERT INTO leases (job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority, pilot, node, daemon_id, expires_at, ttl_s)
		SELECT id, 1, 1, task_id, share_id, shape_id, 1, 1000, 1, 0, 'p', 'n', 1, now() + interval '1 hour', 60 FROM jobs`)
	wrong, err := RecountClaims(t.Context(), f.pool)
	if err != nil || len(wrong) != 2 || wrong[0].Sharers != 5 || wrong[0].Leases != 1 || wrong[1].Leases != 0 {
		t.Fatalf("%+v %v", wrong, err)
	}
	if n, err := CorrectClaims(t.Context(), f.pool, nil); err != nil || n != 2 {
		t.Fatalf("corrected %d: %v", n, err)
	}
	var right int
	f.scan(&right, "SELECT count(*) FROM resource_claims WHERE key = 'held' AND sharers = 1 AND tend_at IS NULL OR key = 'free' AND sharers = 0 AND idle_since IS NOT NULL AND tend_at IS NOT NULL")
	if right != 2 {
		t.Errorf("%d of 2 claims are right", right)
	}
	if n, err := CorrectClaims(t.Context(), f.pool, nil); err != nil || n != 0 {
		t.Errorf("corrected %d once more: %v", n, err)
	}
}
