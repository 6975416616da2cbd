-- All limits, with what this daemon holds in escrow.
SELECT l.kind, l.ref, l.pool, l.cap, l.free, coalesce(e.granted, 0) AS granted
FROM limits l
LEFT JOIN escrow e ON e.daemon_id = @daemon::bigint AND e.kind = l.kind AND e.ref = l.ref AND e.pool = l.pool;
