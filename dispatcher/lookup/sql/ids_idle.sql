-- Ids of jobs that are ready, or of those that wait, behind a cursor: the first ones of the first ranges.
SELECT g.id
FROM (
    SELECT high, greatest(low, @after::bigint + 1) AS low FROM idle_ranges
    WHERE high > @after::bigint AND (state = 'r') = @ready::boolean ORDER BY high LIMIT @n::int
) r
CROSS JOIN LATERAL generate_series(r.low, least(r.high, r.low + @n::int - 1)) AS g (id)
LIMIT @n::int;
