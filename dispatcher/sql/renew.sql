-- Prolongs leases, each named once. A state only goes forward; no indexed column changes, so the rows stay HOT.
-- The first answer that has an order to give units back starts its grace. Who is to be killed as well hears that.
UPDATE leases l
SET expires_at = now() + make_interval(secs => r.ttl_s), ttl_s = r.ttl_s,
    state = CASE WHEN strpos('granted starting running draining', r.state)
        > strpos('granted starting running draining', l.state) THEN r.state ELSE l.state END,
    started_at = CASE WHEN r.state IN ('running', 'draining') THEN coalesce(l.started_at, now()) ELSE l.started_at END,
    cpu_s = greatest(l.cpu_s, r.cpu_s), memory_mb = greatest(l.memory_mb, r.memory_mb),
    told_at = CASE WHEN l.reclaim_grace_s IS NOT NULL THEN coalesce(l.told_at, now()) END
FROM unnest(@jobs::bigint[], @attempts::int[], @nonces::bigint[], @states::text[], @cpu_s::float8[], @memory_mb::bigint[], @ttls::int[])
    AS r (job_id, attempt, nonce, state, cpu_s, memory_mb, ttl_s)
WHERE l.job_id = ANY (@jobs::bigint[]) AND l.job_id = r.job_id AND l.attempt = r.attempt AND l.nonce = r.nonce
RETURNING l.job_id, l.nonce, coalesce(l.cancel_reason, CASE WHEN l.told_at IS NOT NULL THEN 'reclaim' END, '') AS cancel_reason,
    coalesce(l.cancel_grace_s::float8, greatest(0::float8, l.reclaim_grace_s - extract(epoch FROM now() - l.told_at)::float8))
        AS cancel_grace_s;
