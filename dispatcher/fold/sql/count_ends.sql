-- Adds to the attempts that ended.
INSERT INTO end_counts AS e (hour, n, share, shape, queue, outcome, state)
SELECT to_timestamp(hour_ms / 1000), n, share, shape, queue, outcome::"char", state::"char"
FROM unnest(@hours_ms::bigint[], @ns::bigint[], @shares::int[], @shapes::int[], @queues::int[], @outcomes::text[], @states::text[])
    AS c (hour_ms, n, share, shape, queue, outcome, state)
ON CONFLICT (hour, share, shape, queue, outcome, state) DO UPDATE SET n = e.n + excluded.n;
