-- Adds to the attempts that ended.
INSERT INTO end_counts AS e (hour, n, share, shape, queue, outcome, state)
SELECT to_timestamp(hour_ms / 1000), n, share, shape, queue, outcome::"char", state::"char"
FROM unnest(@hour_ms::bigint[], @n::bigint[], @share::int[], @shape::int[], @queue::int[], @outcome::text[], @state::text[])
    AS c (hour_ms, n, share, shape, queue, outcome, state)
ON CONFLICT (hour, share, shape, queue, outcome, state) DO UPDATE SET n = e.n + excluded.n;
