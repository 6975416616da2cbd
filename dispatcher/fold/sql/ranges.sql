-- The ranges that have ids of some spans. As ranges are disjoint, none behind the first that ends after a span has.
SELECT r.low, r.high, r.task, r.place, r.share, r.shape, r.attempt, r.state
FROM unnest(@low::bigint[], @high::bigint[]) AS s (low, high)
CROSS JOIN LATERAL (
    SELECT * FROM idle_ranges i
    WHERE i.high >= s.low AND i.low <= s.high
        AND i.high <= coalesce((SELECT n.high FROM idle_ranges n WHERE n.high >= s.high ORDER BY n.high LIMIT 1), 9223372036854775807)
) r;
