-- Running attempts that could give a claimer what it needs: as wide as its job, at queues where that may run, old enough,
-- and not to end already. The youngest of each share; all leases are read for them.
SELECT job_id, nonce, share_id, queue_id, shape_id, cores, units, age_s
FROM (
    SELECT l.job_id, l.nonce, l.share_id, l.queue_id, l.shape_id, l.cores, l.units, extract(epoch FROM now() - t.since)::float8 AS age_s,
        row_number() OVER (PARTITION BY l.share_id ORDER BY t.since DESC, l.job_id DESC) AS nth
    FROM leases l
    CROSS JOIN LATERAL (SELECT coalesce(l.started_at, l.claimed_at) AS since) t
    WHERE l.share_id <> @claimer::int AND l.queue_id = ANY (@queues::int[]) AND l.cores >= @cores::int
        AND t.since <= now() - make_interval(secs => @min_runtime_s::float8)
        AND l.cancel_reason IS NULL AND l.reclaim_grace_s IS NULL AND l.state <> 'draining' AND l.expires_at > now()
) young
WHERE nth <= @n::int;
