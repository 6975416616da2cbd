-- Whether the roll-ups agree with a recount of the attempts: slot-seconds, unit-seconds and attempts.
SELECT (r.slots, r.units, r.jobs) = (a.slots, a.units, a.jobs) AND (d.slots, d.units, d.jobs) = (a.slots, a.units, a.jobs)
    AND (t.slots, t.units, t.jobs) = (a.slots, a.units, a.jobs) AND (n.slots, n.jobs) = (a.slots, a.jobs) AS agree
FROM (SELECT sum(slot_seconds) AS slots, sum(unit_seconds) AS units, sum(finished + failed + lost) AS jobs FROM usage_hours) r
CROSS JOIN (SELECT sum(slot_seconds) AS slots, sum(unit_seconds) AS units, sum(finished + failed + lost) AS jobs FROM usage_days) d
CROSS JOIN (SELECT sum(slot_seconds) AS slots, sum(unit_seconds) AS units, sum(finished + failed + lost) AS jobs FROM usage_tasks) t
CROSS JOIN (SELECT sum(slot_seconds) AS slots, sum(finished + failed + lost) AS jobs FROM usage_nodes) n
CROSS JOIN (
    SELECT sum(cores * extract(epoch FROM ended_at - claimed_at)) AS slots, sum(units * 0.001 * extract(epoch FROM ended_at - claimed_at)) AS units, count(*) AS jobs
    FROM attempts
) a;
