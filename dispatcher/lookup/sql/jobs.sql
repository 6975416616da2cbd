-- Jobs by id, with where each of them stands and its running or last attempt. A job that has no lease is in a range of those without
-- one, or over; what nothing knows was made a moment ago and is not folded yet, or so long ago that nothing is kept of it. Days of
-- history before a job was made are not looked at, and none for a job that was never granted.
SELECT j.id, b.task_id AS task, coalesce(s.path, '') AS share, coalesce(h.shape, r.shape, y.shape, b.shape_id) AS shape_id, w.state, b.priority,
    coalesce(h.attempt, r.attempt, y.attempt + (o.state IS NOT DISTINCT FROM 'c')::int, 1) AS attempt,
    b.max_attempts + CASE WHEN coalesce(h.attempt, r.attempt, 2) > 1 THEN (
        SELECT count(*)::int FROM history v WHERE v.job = j.id AND v.ended_at >= b.made_at AND v.outcome = 'r') ELSE 0 END AS max_attempts,
    j.idx AS index, j.inputs, CASE WHEN @whole::boolean AND j.n_events > 0 THEN coalesce(j.first_event, 0) END AS first_event,
    CASE WHEN @whole::boolean THEN coalesce(j.n_events, 0) ELSE 0 END AS events, coalesce(j.retry_of, 0) AS retry_of,
    coalesce((SELECT f.job_id FROM halves f WHERE f.task_id = b.task_id AND f.idx = j.idx AND @whole::boolean), 0) AS half_of,
    b.made_at AS created_at, CASE WHEN w.state IN ('finished', 'failed', 'cancelled') THEN coalesce(o.at, y.ended_at) END AS ended_at,
    (SELECT t.due_at FROM retries t WHERE t.job_id = j.id AND r.state = 'w') AS try_at,
    coalesce(h.attempt, y.attempt, 0) AS last_attempt, coalesce(h.nonce, y.nonce, 0) AS nonce, coalesce(q.name, '') AS queue,
    coalesce(h.pilot, y.pilot, '') AS pilot, coalesce(h.node, y.node, '') AS node, coalesce(y.outcome::text, '') AS outcome,
    coalesce(h.granted_at, y.granted_at) AS granted_at, coalesce(h.start_delay_ms, y.start_delay_ms, -1) AS start_delay_ms,
    y.ended_at AS last_ended_at, coalesce(y.exit_code, 0) AS exit_code, coalesce(y.cpu_ms, 0) AS cpu_ms, coalesce(y.memory_mb, 0) AS memory_mb,
    coalesce(h.reason, '') AS ending
FROM unnest(@ids::bigint[]) AS k (id)
CROSS JOIN LATERAL (SELECT i.* FROM jobs i WHERE i.id = k.id LIMIT 1) j
CROSS JOIN LATERAL (SELECT i.* FROM job_blocks i WHERE i.low <= k.id ORDER BY i.low DESC LIMIT 1) b
LEFT JOIN LATERAL (
    SELECT i.*, (SELECT l.nonce FROM held l WHERE l.job = k.id) AS nonce FROM leases_now i WHERE i.job = k.id LIMIT 1
) h ON true
LEFT JOIN LATERAL (SELECT i.* FROM idle_ranges i WHERE i.high >= k.id AND h.job IS NULL ORDER BY i.high LIMIT 1) r ON r.low <= k.id
LEFT JOIN LATERAL (SELECT i.* FROM over_ranges i WHERE i.high >= k.id AND h.job IS NULL AND r.low IS NULL ORDER BY i.high LIMIT 1) o
    ON o.low <= k.id
LEFT JOIN LATERAL (
    SELECT i.* FROM history i
    WHERE i.job = k.id AND i.ended_at >= b.made_at AND h.job IS NULL AND (r.low IS NULL OR r.attempt > 1)
    ORDER BY i.attempt DESC LIMIT 1
) y ON true
CROSS JOIN LATERAL (
    SELECT CASE
        WHEN h.job IS NOT NULL THEN 'leased'
        WHEN r.low IS NOT NULL THEN CASE r.state WHEN 'r' THEN 'ready' ELSE 'waiting' END
        ELSE CASE coalesce(o.state, y.state) WHEN 'f' THEN 'finished' WHEN 'x' THEN 'failed' WHEN 'c' THEN 'cancelled'
            ELSE CASE
                WHEN EXISTS (SELECT FROM paused_tasks p WHERE p.task = b.task_id) THEN 'waiting'
                WHEN y.job IS NOT NULL OR b.made_at > (SELECT f.at FROM folded f) - interval '1 hour' THEN 'ready'
            END
        END
    END AS state
) w
LEFT JOIN shares s ON s.id = coalesce(h.share, r.share, y.share, b.share_id)
LEFT JOIN queues q ON q.id = coalesce(h.queue, y.queue)
WHERE b.high >= k.id AND w.state IS NOT NULL
ORDER BY j.id;
