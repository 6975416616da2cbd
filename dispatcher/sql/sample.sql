-- The standing of all shares at one moment.
INSERT INTO share_samples (at, pool, share_id, target, held, ready)
SELECT clock_timestamp(), s.pool, s.share_id, s.target, s.held, s.ready
FROM unnest(@pools::text[], @shares::int[], @targets::float8[], @held::bigint[], @ready::bigint[])
    AS s (pool, share_id, target, held, ready)
ON CONFLICT DO NOTHING;
