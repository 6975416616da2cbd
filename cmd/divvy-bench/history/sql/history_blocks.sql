-- Blocks of a thousand jobs that were made on one day.
INSERT INTO job_blocks (low, high, task_id, made_at, share_id, shape_id, priority, max_attempts, again)
SELECT low, least(low + 999, @first::bigint + @n::int - 1), low / 1000, ((now() AT TIME ZONE 'UTC')::date - @back::int)::timestamp AT TIME ZONE 'UTC',
    1 + low / 1000 % 100, 1 + low / 1000 % 4, 0, 3, false
FROM generate_series(@first::bigint, @first::bigint + @n::int - 1, 1000) AS low;
