-- Adds how long jobs waited whose first attempt is among those that the same transaction adds. A wait begins when the task is
-- submitted: its user waits for the making of its jobs too. Jobs that try a piece again do not count. A job that ended with its first
-- attempt has the time of its end. Any other job lives still, or ended later.
WITH a AS (
    SELECT a.job_id, a.task_id, a.share_id, a.queue_id, a.claimed_at, a.ended_at
    FROM attempts a WHERE @past::timestamptz IS NULL AND a.nth > @done::bigint AND a.nth <= @upto::bigint AND a.attempt = 1 AND a.outcome <> 'revoked'
    UNION ALL
    SELECT a.job_id, a.task_id, a.share_id, a.queue_id, a.claimed_at, a.ended_at
    FROM attempts a
    WHERE a.nth IS NULL AND a.ended_at >= @past::timestamptz AND a.ended_at < @past::timestamptz + interval '1 hour'
        AND a.attempt = 1 AND a.outcome <> 'revoked'
), made AS MATERIALIZED ( -- else each of the places that read it looks for the job again. infinity: it tries a piece again
    SELECT a.task_id, a.share_id, a.queue_id, a.claimed_at, coalesce(
        (SELECT CASE WHEN e.retry_of IS NULL THEN e.created_at ELSE 'infinity' END FROM ended_jobs e WHERE e.id = a.job_id AND e.ended_at = a.ended_at),
        (SELECT CASE WHEN j.retry_of IS NULL THEN j.created_at ELSE 'infinity' END FROM jobs j WHERE j.id = a.job_id),
        (SELECT min(CASE WHEN e.retry_of IS NULL THEN e.created_at ELSE 'infinity' END) FROM ended_jobs e WHERE e.id = a.job_id AND e.ended_at > a.ended_at)
    ) AS at
    FROM a
), waits AS MATERIALIZED (
    SELECT m.share_id, m.queue_id, date_trunc('hour', m.claimed_at, 'UTC') AS hour, t.user_name, w.seconds, width_bucket(w.seconds::float8, divvy_wait_bounds()) AS bucket
    FROM made m
    LEFT JOIN LATERAL (SELECT k.user_name, coalesce(k.committed_at, k.created_at) AS at FROM tasks k WHERE k.id = m.task_id) t ON true
    CROSS JOIN LATERAL (SELECT greatest(extract(epoch FROM m.claimed_at - least(t.at, m.at)), 0) AS seconds) w
    WHERE m.at <> 'infinity'
), by_user AS (
    INSERT INTO user_wait_hours AS w (hour, user_name, bucket, jobs, wait_seconds)
    SELECT hour, user_name, bucket, count(*), sum(seconds) FROM waits WHERE user_name IS NOT NULL
    GROUP BY hour, user_name, bucket
    ON CONFLICT (hour, user_name, bucket) DO UPDATE SET jobs = w.jobs + excluded.jobs, wait_seconds = w.wait_seconds + excluded.wait_seconds
)
INSERT INTO wait_hours AS w (hour, share_id, queue_id, bucket, jobs, wait_seconds)
SELECT hour, share_id, queue_id, bucket, count(*), sum(seconds)
FROM waits
GROUP BY hour, share_id, queue_id, bucket
ON CONFLICT (hour, share_id, queue_id, bucket) DO UPDATE SET jobs = w.jobs + excluded.jobs, wait_seconds = w.wait_seconds + excluded.wait_seconds;
