-- Running attempts that could give a claimer what it needs: as wide as its job, at queues where that may run, old enough, and not to end
-- already. The youngest of each share; all leases are read for them.
SELECT job_id, nonce, share_id, queue_id, shape_id, cores, units, age_s
FROM (
    SELECT l.job AS job_id, l.nonce, l.share AS share_id, l.queue AS queue_id, l.shape AS shape_id, s.cores, l.units,
        extract(epoch FROM now() - t.since)::float8 AS age_s, row_number() OVER (PARTITION BY l.share ORDER BY t.since DESC, l.job DESC) AS nth
    FROM held l
    JOIN (SELECT key::int AS shape, (entry -> 'need' ->> 'cores')::bigint AS cores FROM latest WHERE kind = 'h') s ON s.shape = l.shape
    CROSS JOIN LATERAL (SELECT l.granted_at + make_interval(secs => greatest(0, l.start_delay_ms) / 1000.0) AS since) t
    WHERE l.share <> @claimer::int AND l.queue = ANY (@queues::int[]) AND s.cores >= @cores::bigint AND l.reason = ''
        AND t.since <= now() - make_interval(secs => @min_runtime_s::float8)
        AND NOT EXISTS (SELECT FROM reclaims r WHERE r.job_id = l.job AND r.attempt = l.attempt)
) young
WHERE nth <= @n::int;
