-- All leases, for a start.
SELECT job, nonce, task, place, units, granted_at, request, attempt, share, shape, queue, start_delay_ms, grace_s, pilot, node, reason
FROM held;
