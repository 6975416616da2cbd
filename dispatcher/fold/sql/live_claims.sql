-- All live claims, for a start.
SELECT saved::text AS saved, coalesce((extract(epoch FROM made_at) * 1000000)::bigint, 0) AS made_us,
    coalesce((extract(epoch FROM bound_at) * 1000000)::bigint, 0) AS bound_us, coalesce((extract(epoch FROM ended_at) * 1000000)::bigint, 0) AS ended_us
FROM claims WHERE ended_at IS NULL ORDER BY id;
