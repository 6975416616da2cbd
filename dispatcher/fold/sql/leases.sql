-- Leases that are changed by a step.
SELECT job, nth, nonce, task, place, units, granted_at, request, attempt, share, shape, queue, start_delay_ms, ttl_s, grace_s, pilot, node, reason
FROM held WHERE job = ANY (@ids::bigint[]);
