-- Ids of jobs that are over in one state, behind a cursor.
SELECT id FROM (
    (SELECT job AS id FROM history WHERE job > @after::bigint AND state = @state::"char" ORDER BY job LIMIT @n::int)
    UNION ALL
    (SELECT g.id
    FROM (
        SELECT high, greatest(low, @after::bigint + 1) AS low FROM over_ranges
        WHERE high > @after::bigint AND state = @state::"char" ORDER BY high LIMIT @n::int
    ) r
    CROSS JOIN LATERAL generate_series(r.low, least(r.high, r.low + @n::int - 1)) AS g (id)
    ORDER BY g.id LIMIT @n::int)
) o
ORDER BY id LIMIT @n::int;
