-- Running attempts that could give a claimer what it needs: of shapes as wide as its job, at queues where that may run, old enough, and not
-- to end already. The youngest of each share; all leases are read for them.
SELECT job_id, nonce, share_id, queue_id, shape_id, 0::bigint AS cores, units, extract(epoch FROM now() - since)::float8 AS age_s
FROM (
    SELECT l.job AS job_id, l.nonce, l.share AS share_id, l.queue AS queue_id, l.shape AS shape_id, l.units, t.since,
        row_number() OVER (PARTITION BY l.share ORDER BY t.since DESC, l.job DESC) AS nth
    FROM held l
    CROSS JOIN LATERAL (SELECT l.granted_at + greatest(0, l.start_delay_ms) * interval '1 ms' AS since) t
    WHERE l.share <> @claimer::int AND l.queue = ANY (@queues::int[]) AND l.shape = ANY (@shapes::int[]) AND l.reason = ''
        AND t.since <= now() - make_interval(secs => @min_runtime_s::float8)
        AND NOT EXISTS (SELECT FROM reclaims r WHERE r.job_id = l.job AND r.attempt = l.attempt)
) young
WHERE nth <= @n::int;
