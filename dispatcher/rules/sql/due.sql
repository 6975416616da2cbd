-- Jobs whose time has come, locked, the longest first, with the rows of those that still wait. Those that another daemon is at are left out.
SELECT d.job_id AS job, d.task_id AS task, d.attempt, d.due_at AS ended_at, i.high IS NOT NULL AS waits, coalesce(i.share, 0) AS share,
    d.shape_id AS shape, d.split, coalesce(i.place, 0) AS place, coalesce(t.user_name, '') AS "user"
FROM (
    SELECT * FROM retries WHERE due_at <= now() ORDER BY due_at, job_id LIMIT @n::int FOR UPDATE SKIP LOCKED
) d
LEFT JOIN LATERAL (
    SELECT r.* FROM (SELECT * FROM idle_ranges WHERE high >= d.job_id ORDER BY high LIMIT 1) r
    WHERE r.low <= d.job_id AND r.state = 'w' AND r.attempt = d.attempt + 1
) i ON true
LEFT JOIN task_counts t ON t.task = d.task_id;
