-- Moves units of a limit into this daemon's escrow: a part of what is free, at least what is needed, or nothing.
-- No row: the limits belong to another epoch by now, or this daemon was closed, or joined on another timeline.
WITH asked AS (
    SELECT l.kind, l.ref, l.pool,
        CASE WHEN l.free >= @need::bigint THEN greatest(@need::bigint, l.free / @parts::int) ELSE 0 END AS amount
    FROM limits l
    WHERE l.kind = @kind::text AND l.ref = @ref::text AND l.pool = @pool::text
        AND EXISTS (SELECT FROM limit_epoch e WHERE e.epoch = @epoch::bigint)
        AND EXISTS (SELECT FROM daemons d WHERE d.id = @daemon::bigint AND d.closed_at IS NULL AND (d.timeline = divvy_timeline()) IS NOT FALSE)
    FOR UPDATE
), moved AS (
    UPDATE limits l SET free = l.free - a.amount, wanted_at = CASE WHEN a.amount = 0 THEN now() ELSE l.wanted_at END
    FROM asked a
    WHERE l.kind = a.kind AND l.ref = a.ref AND l.pool = a.pool
), kept AS (
    INSERT INTO escrow AS e (daemon_id, kind, ref, pool, granted)
    SELECT @daemon::bigint, kind, ref, pool, amount FROM asked WHERE amount > 0
    ON CONFLICT (daemon_id, kind, ref, pool) DO UPDATE SET granted = e.granted + excluded.granted
    RETURNING granted
)
SELECT a.amount, coalesce((SELECT granted FROM kept), 0) AS granted
FROM asked a
WHERE a.amount > 0 OR pg_notify('divvy', 'escrow') IS NOT NULL;
