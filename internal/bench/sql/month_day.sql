-- Attempts that ended on one day, so many days ago: of that day's tasks, a few queues each, for two hours in the mean; one in
-- twenty failed, one in a hundred was lost. Those without a number are as from before there were roll-ups.
INSERT INTO attempts (job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority, pilot, node, claimed_at, started_at,
    ended_at, outcome, exit_code, message, cpu_s, memory_mb, report, nth)
SELECT g + @first::bigint, 2, g, t.id, t.share_id, 1, q.id, c.cores * q.core_power_milli, c.cores, 0, 'pilot', q.name || '-n' || g * 31 % 100,
    e.ended_at - e.took, e.ended_at - e.took, e.ended_at, o.outcome, CASE o.outcome WHEN 'failed' THEN 1 + g % 30 END,
    CASE o.outcome WHEN 'failed' THEN 'the payload ended with ' || 1 + g % 30 ELSE '' END,
    extract(epoch FROM e.took) * c.cores * 0.8, 2000, CASE o.outcome WHEN 'failed' THEN jsonb_build_object('pilotErrorCode', 1300 + g % 30) END,
    CASE WHEN @numbered::boolean THEN nextval('attempts_nth') END
FROM generate_series(0::bigint, @n::bigint - 1) AS g
CROSS JOIN LATERAL (SELECT (g * 7919 % @n::bigint) / @n::float8 AS a, (g * 104729 % 1000003) / 1000003.0::float8 AS b) r
JOIN tasks t ON t.id = 1 + 3000 * @back::int - (3000 * r.b * r.b)::int
JOIN queues q ON q.position = 1 + (t.id * 13 + g % 5 * 17) % 120
CROSS JOIN LATERAL (SELECT CASE WHEN t.id % 3 = 0 THEN 1 ELSE 8 END AS cores) c
CROSS JOIN LATERAL (
    SELECT ((now() AT TIME ZONE 'UTC')::date - @back::int)::timestamp AT TIME ZONE 'UTC' + r.a * interval '86399 seconds' AS ended_at,
        -2 * ln(1 - r.b * 0.999) * interval '1 hour' AS took
) e
CROSS JOIN LATERAL (SELECT CASE WHEN g % 20 = 0 THEN 'failed' WHEN g % 100 = 1 THEN 'lost' ELSE 'finished' END AS outcome) o;
