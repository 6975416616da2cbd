-- Attempts that ended on one day, one of each of these jobs, in tasks of a thousand jobs.
INSERT INTO history (job, nonce, task, units, granted_at, ended_at, cpu_ms, attempt, share, shape, queue, start_delay_ms, exit_code, memory_mb,
    outcome, state, pilot, node)
SELECT @first::bigint + g, g, (@first::bigint + g) / 1000, 1000, d.day - interval '30 minutes', d.day + g * (interval '86399 seconds' / @n::int),
    1000000, 1, 1 + g % 100, 1 + g % 4, 1 + g % 20, 60000, 0, 900, 'f', 'f', 'pilot-' || g % 1000, 'node' || g % 1000
FROM generate_series(0, @n::int - 1) AS g
CROSS JOIN (SELECT ((now() AT TIME ZONE 'UTC')::date - @back::int)::timestamp AT TIME ZONE 'UTC' AS day) d;
