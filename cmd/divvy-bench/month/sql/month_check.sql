-- Whether the roll-ups agree with a recount of the attempts: slot-seconds, unit-seconds and attempts; those by node for what is rolled up.
WITH recount AS (
    SELECT sum(cores * ms) AS slots, sum(units * ms) AS units, count(*) AS jobs, sum(cores * ms) FILTER (WHERE ended_at < rolled_at) AS rolled_slots,
        count(*) FILTER (WHERE ended_at < rolled_at) AS rolled_jobs
    FROM (
        SELECT s.cores, a.units, a.ended_at, r.at AS rolled_at,
            (floor(extract(epoch FROM a.ended_at) * 1000) - floor(extract(epoch FROM a.granted_at) * 1000))::bigint AS ms
        FROM history a JOIN shapes s ON s.id = a.shape CROSS JOIN rolled r
    ) x
)
SELECT (h.slots, h.units, h.jobs) = (a.slots, a.units, a.jobs) AND (d.slots, d.units, d.jobs) = (a.slots, a.units, a.jobs)
    AND (t.slots, t.units, t.jobs) = (a.slots, a.units, a.jobs) AND e.jobs = a.jobs AND (n.slots, n.jobs) = (a.rolled_slots, a.rolled_jobs) AS agree
FROM recount a
CROSS JOIN (SELECT sum(slot_ms) AS slots, sum(unit_ms) AS units, sum(finished + failed + lost + cancelled + returned) AS jobs FROM hour_usage) h
CROSS JOIN (SELECT sum(slot_ms) AS slots, sum(unit_ms) AS units, sum(finished + failed + lost + cancelled + returned) AS jobs FROM day_usage) d
CROSS JOIN (SELECT sum(slot_ms) AS slots, sum(unit_ms) AS units, sum(finished + failed + lost + cancelled + returned) AS jobs FROM task_usage) t
CROSS JOIN (SELECT sum(slot_ms) AS slots, sum(finished + failed + lost + cancelled + returned) AS jobs FROM node_usage) n
CROSS JOIN (SELECT sum(n) AS jobs FROM end_counts) e;
