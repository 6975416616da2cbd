-- The row of a limit that nobody has used since the epoch began: all of it is free. The barrier is held shared, so no
-- rebase is under way.
INSERT INTO limits (kind, ref, pool, cap, free)
SELECT @kind::text, @ref::text, @pool::text, @cap::bigint, @cap::bigint
WHERE EXISTS (SELECT FROM limit_epoch e WHERE e.epoch = @epoch::bigint)
ON CONFLICT (kind, ref, pool) DO NOTHING;
