-- Returns escrow to its limit, and says so. The limit is locked first, as take does it: a rebase that comes in
-- between leaves no row, and then nothing is changed.
WITH old AS (
    SELECT l.kind, l.ref, l.pool
    FROM limits l
    WHERE l.kind = @kind::text AND l.ref = @ref::text AND l.pool = @pool::text
        AND EXISTS (SELECT FROM limit_epoch e WHERE e.epoch = @epoch::bigint)
    FOR UPDATE
), less AS (
    INSERT INTO escrow AS e (daemon_id, kind, ref, pool, granted)
    SELECT @daemon::bigint, kind, ref, pool, -@amount::bigint
    FROM old
    ON CONFLICT (daemon_id, kind, ref, pool) DO UPDATE SET granted = e.granted + excluded.granted
    RETURNING kind, ref, pool
), more AS (
    UPDATE limits l SET free = l.free + @amount::bigint
    FROM less
    WHERE l.kind = less.kind AND l.ref = less.ref AND l.pool = less.pool
    RETURNING l.free
)
SELECT free FROM more WHERE pg_notify('divvy', 'escrow') IS NOT NULL;
