-- Adds how long jobs waited whose first attempt ended since the last time, of those that are folded but for the newest batch. A wait begins
-- when the task is submitted: its user waits for the making of its jobs too. Jobs that try a piece again do not count, nor do attempts
-- that had to give their units back. While another daemon is at it: nothing. Returns how many they were.
WITH span AS MATERIALIZED (
    SELECT w.at AS since, (SELECT f.at FROM folded f) AS until FROM waited w FOR UPDATE SKIP LOCKED
), waits AS MATERIALIZED (
    SELECT h.share, h.queue, date_trunc('hour', h.granted_at, 'UTC') AS hour, t.user_name, s.seconds,
        width_bucket(s.seconds::float8, divvy_wait_bounds()) AS bucket
    FROM history h
    CROSS JOIN LATERAL (SELECT i.made_at, i.again FROM job_blocks i WHERE i.low <= h.job ORDER BY i.low DESC LIMIT 1) b
    LEFT JOIN LATERAL (SELECT k.user_name, coalesce(k.committed_at, k.created_at) AS at FROM tasks k WHERE k.id = h.task LIMIT 1) t ON true
    CROSS JOIN LATERAL (SELECT greatest(extract(epoch FROM h.granted_at - least(t.at, b.made_at)), 0) AS seconds) s
    WHERE h.ended_at >= (SELECT since FROM span) AND h.ended_at < (SELECT until FROM span) AND h.attempt = 1 AND h.outcome <> 'r' AND NOT b.again
), by_user AS (
    INSERT INTO user_wait_hours AS w (hour, user_name, bucket, jobs, wait_seconds)
    SELECT hour, user_name, bucket, count(*), sum(seconds) FROM waits WHERE user_name IS NOT NULL GROUP BY hour, user_name, bucket
    ORDER BY hour, user_name, bucket
    ON CONFLICT (hour, user_name, bucket) DO UPDATE SET jobs = w.jobs + excluded.jobs, wait_seconds = w.wait_seconds + excluded.wait_seconds
), by_share AS (
    INSERT INTO wait_hours AS w (hour, share_id, queue_id, bucket, jobs, wait_seconds)
    SELECT hour, share, queue, bucket, count(*), sum(seconds) FROM waits GROUP BY hour, share, queue, bucket ORDER BY hour, share, queue, bucket
    ON CONFLICT (hour, share_id, queue_id, bucket) DO UPDATE SET jobs = w.jobs + excluded.jobs, wait_seconds = w.wait_seconds + excluded.wait_seconds
), moved AS (
    UPDATE waited w SET at = s.until FROM span s WHERE w.only_row AND s.since < s.until
)
SELECT count(*)::int FROM waits;
