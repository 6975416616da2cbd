-- Leases that are changed by a step.
SELECT job, nonce, task, place, units, granted_at, request, attempt, share, shape, queue, start_delay_ms, grace_s, pilot, node, reason
FROM held WHERE job = ANY (@jobs::bigint[]);
