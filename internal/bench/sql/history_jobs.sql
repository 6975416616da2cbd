-- Jobs that ended on one day, in the order of their ids, in tasks of a thousand jobs.
INSERT INTO ended_jobs (id, task_id, share_id, shape_id, priority, state, attempt, max_attempts, idx, created_at, ended_at)
SELECT @first::bigint + g, (@first::bigint + g) / 1000, 1 + g % 100, 1 + g % 4, 0, 'finished', 1, 3, g % 1000, d.day - interval '1 hour',
    d.day + g * (interval '86399 seconds' / @n::int)
FROM generate_series(0, @n::int - 1) AS g
CROSS JOIN (SELECT ((now() AT TIME ZONE 'UTC')::date - @back::int)::timestamp AT TIME ZONE 'UTC' AS day) d;
