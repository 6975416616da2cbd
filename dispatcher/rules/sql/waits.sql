-- The next attempts after which jobs waited, with the rows of those that still do. What has the time of the last batch that is folded may
-- get more.
SELECT h.job, h.task, h.attempt, h.ended_at, i.high IS NOT NULL AS waits, coalesce(i.share, 0) AS share, coalesce(i.shape, 0) AS shape, false AS split,
    coalesce(i.place, 0) AS place, coalesce(t.user_name, '') AS "user"
FROM (
    SELECT job, task, attempt, ended_at FROM history
    WHERE state = 'w' AND ended_at >= @at::timestamptz AND (ended_at, job) > (@at::timestamptz, @job::bigint)
        AND ended_at < @upto::timestamptz
    ORDER BY ended_at, job LIMIT @n::int
) h
LEFT JOIN LATERAL (
    SELECT r.* FROM (SELECT * FROM idle_ranges WHERE high >= h.job ORDER BY high LIMIT 1) r
    WHERE r.low <= h.job AND r.state = 'w' AND r.attempt = h.attempt + 1
) i ON true
LEFT JOIN task_counts t ON t.task = h.task
ORDER BY h.ended_at, h.job;
