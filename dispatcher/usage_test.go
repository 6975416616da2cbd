package dispatcher

import (
	"context"
	"math"
	"testing"

	"github.com/divvyhq/divvy/shares"
)

// finishWith ends an attempt as finished with a usage.
func finishWith(t *testing.T, d *Dispatcher, u Usage, l Lease) {
	t.Helper()
	reply, err := d.Finish(context.Background(), FinishRequest{Pilot: "p", Results: []Result{{Lease: l.Lease, Outcome: Finished, Usage: u}}})
	if err != nil || reply.Verdicts[0].Verdict != Recorded {
		t.Fatalf("%+v: %+v, %v", u, reply, err)
	}
}

// Figures that no column holds are cut: the result counts, and so do those of the other pilots.
func TestUsageThatIsTooMuch(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 5, user: "alice"})
	much := Usage{CPUSeconds: 1e20, MemoryMB: math.MaxInt64}
	finishWith(t, d, much, pull1(t, d, "q"))
	running := pull1(t, d, "q")
	renewOnce(t, d, Renewal{Lease: running.Lease, State: Running, Usage: much})
	f.expectLines("running", "SELECT concat_ws(' ', cpu_seconds, memory_mb) FROM report.leases", "1000000000 1000000000")
	finishWith(t, d, Usage{CPUSeconds: math.NaN(), MemoryMB: -1}, running)
	finishWith(t, d, Usage{CPUSeconds: 2.5}, pull1(t, d, "q"))
	finishWith(t, d, Usage{CPUSeconds: math.Inf(-1)}, pull1(t, d, "q"))
	reports := func(when string) {
		t.Helper()
		for _, view := range []string{"usage_hourly", "usage_daily", "task_usage"} {
			f.expectLines(when+": "+view, "SELECT sum(cpu_seconds)::text FROM report."+view, "2000000002.500")
		}
	}
	reports("before")
	f.accountAll(d)
	reports("after")
	f.expectLines("attempts", "SELECT concat_ws(' ', cpu_seconds, memory_mb) FROM report.attempts ORDER BY job_id",
		"1000000000 1000000000", "1000000000 1000000000", "2.5 0", "0 0")
}

// Rows of before there was a bound do not stop the roll-ups either, nor do sums of many.
func TestUsageThatWasTooMuch(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 4, user: "alice"})
	for range 3 {
		finishWith(t, d, Usage{CPUSeconds: 1}, pull1(t, d, "q"))
	}
	f.exec(`UPDATE attempts SET cpu_s = CASE job_id WHEN (SELECT min(job_id) FROM attempts) THEN 1e300 WHEN (SELECT max(job_id) FROM attempts) THEN 'NaN' ELSE -1e300 END`)
	const total = "SELECT sum(cpu_seconds)::text FROM report.usage_hourly"
	f.expectLines("before", total, "2000000000.000")
	f.accountAll(d)
	f.expectLines("after", total, "2000000000.000")
	for _, rollup := range []string{"usage_hours", "usage_days", "usage_tasks"} {
		f.exec("UPDATE " + rollup + " SET cpu_ms = 4000000000000000000")
	}
	finishWith(t, d, Usage{CPUSeconds: 1e9}, pull1(t, d, "q"))
	f.expectLines("not counted yet", total, "4000001000000000.000")
	f.accountAll(d)
	f.expectLines("full", total, "4000000000000000.000")
}
