-- The standing of all shares at one moment.
INSERT INTO share_samples (at, pool, share_id, target, held, ready, deserved, lent, borrowed)
SELECT clock_timestamp(), s.pool, s.share_id, s.target, s.held, s.ready, s.deserved, s.lent, s.borrowed
FROM unnest(@pools::text[], @shares::int[], @targets::float8[], @held::bigint[], @ready::bigint[], @deserved::float8[], @lent::float8[], @borrowed::float8[])
    AS s (pool, share_id, target, held, ready, deserved, lent, borrowed)
ON CONFLICT DO NOTHING;
