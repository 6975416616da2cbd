-- How long jobs waited whose first attempt is among the same ones, in the transaction that adds these. A job that ended
-- with it did so in the same transaction, at the same time; else it lives, or ended later.
WITH a AS (
    SELECT a.job_id, a.share_id, a.queue_id, a.claimed_at, a.ended_at
    FROM attempts a WHERE @past::timestamptz IS NULL AND a.nth > @done::bigint AND a.nth <= @upto::bigint AND a.attempt = 1 AND a.outcome <> 'revoked'
    UNION ALL
    SELECT a.job_id, a.share_id, a.queue_id, a.claimed_at, a.ended_at
    FROM attempts a
    WHERE a.nth IS NULL AND a.ended_at >= @past::timestamptz AND a.ended_at < @past::timestamptz + interval '1 hour'
        AND a.attempt = 1 AND a.outcome <> 'revoked'
), waits AS MATERIALIZED ( -- else each of the three places that read seconds looks for the job again
    SELECT a.share_id, a.queue_id, a.claimed_at, greatest(extract(epoch FROM a.claimed_at - coalesce(
        (SELECT e.created_at FROM ended_jobs e WHERE e.id = a.job_id AND e.ended_at = a.ended_at),
        (SELECT j.created_at FROM jobs j WHERE j.id = a.job_id),
        (SELECT min(e.created_at) FROM ended_jobs e WHERE e.id = a.job_id AND e.ended_at > a.ended_at))), 0) AS seconds
    FROM a
)
INSERT INTO wait_hours AS w (hour, share_id, queue_id, bucket, jobs, wait_seconds)
SELECT date_trunc('hour', claimed_at, 'UTC'), share_id, queue_id, width_bucket(seconds::float8, divvy_wait_bounds()), count(*), sum(seconds)
FROM waits WHERE seconds IS NOT NULL
GROUP BY date_trunc('hour', claimed_at, 'UTC'), share_id, queue_id, width_bucket(seconds::float8, divvy_wait_bounds())
ON CONFLICT (hour, share_id, queue_id, bucket) DO UPDATE SET jobs = w.jobs + excluded.jobs, wait_seconds = w.wait_seconds + excluded.wait_seconds;
