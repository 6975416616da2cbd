-- An attempt of each of these jobs, without a number: it counts as added to the roll-ups, as history is in life.
INSERT INTO attempts (job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority, pilot, node, claimed_at, started_at,
    ended_at, outcome, exit_code, cpu_s, memory_mb, nth)
SELECT @first::bigint + g, 1, g, (@first::bigint + g) / 1000, 1 + g % 100, 1 + g % 4, 1 + g % 20, 1000, 1, 0, 'pilot-' || g % 1000, 'node' || g % 1000,
    d.day - interval '30 minutes', d.day - interval '29 minutes', d.day + g * (interval '86399 seconds' / @n::int), 'finished', 0, 1000, 900, NULL
FROM generate_series(0, @n::int - 1) AS g
CROSS JOIN (SELECT ((now() AT TIME ZONE 'UTC')::date - @back::int)::timestamp AT TIME ZONE 'UTC' AS day) d;
