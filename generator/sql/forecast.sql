-- When tasks with a deadline will be over: what is left at the rate at which jobs ended. The first rate is that since the first
-- lease; from then on it is a mean that forgets within memory_s.
WITH due AS MATERIALIZED (
    SELECT task_id FROM task_deadlines
    WHERE NOT over AND coalesce(seen_at, '-infinity') < now() - make_interval(secs => @every_s::float8)
    ORDER BY coalesce(seen_at, '-infinity') LIMIT @limit::int
    FOR UPDATE SKIP LOCKED
), seen AS (
    SELECT d.task_id, d.deadline, d.n_ended, d.per_s, t.ended_at, t.n_finished + t.n_failed + t.n_cancelled AS ended,
        greatest(t.n_jobs, t.n_pieces) AS total, extract(epoch FROM now() - t.started_at)::float8 AS running_s,
        greatest(extract(epoch FROM now() - d.seen_at)::float8, 1) AS since_s
    FROM due JOIN task_deadlines d USING (task_id) JOIN counted_tasks t ON t.id = d.task_id
), rated AS (
    SELECT s.*, CASE WHEN ended = 0 THEN NULL
        WHEN per_s IS NULL THEN ended / greatest(running_s, 1)
        ELSE per_s + (1 - exp(-since_s / @memory_s::float8)) * ((ended - n_ended) / since_s - per_s) END AS rate
    FROM seen s
), told AS (
    SELECT r.*, CASE WHEN ended_at IS NULL AND rate > 0 THEN
        now() + make_interval(secs => least((total - ended) / rate, @horizon_s::float8)) END AS eta
    FROM rated r
)
UPDATE task_deadlines d SET seen_at = now(), n_ended = t.ended, per_s = t.rate, eta = t.eta, over = t.ended_at IS NOT NULL,
    late_risk = CASE WHEN t.ended_at <= d.deadline THEN 'met' WHEN t.ended_at IS NOT NULL THEN 'missed' WHEN now() > d.deadline THEN 'late'
        WHEN t.eta IS NULL THEN 'unknown' WHEN t.eta > d.deadline THEN 'high' ELSE 'low' END
FROM told t
WHERE d.task_id = t.task_id
RETURNING d.task_id, d.late_risk IN ('high', 'late') AND d.boosted < d.boost AS wants_boost;
