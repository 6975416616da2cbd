-- The next jobs of a task that have finished, or ended in any way, by id, with the attempt that finished. Blocks come one after the other,
-- each by its ids; the limit keeps PostgreSQL from a join that reads all of history. Clocks may differ by a day.
SELECT e.id, j.idx, e.state = 'f' AS finished, e.at AS ended_at, e.attempt
FROM (
    SELECT l.id, l.state, l.at, l.attempt
    FROM (
        SELECT low, high, made_at FROM job_blocks WHERE task_id = @task::bigint AND high > @after::bigint ORDER BY low LIMIT 1000000000
    ) b
    CROSS JOIN LATERAL (
        (SELECT h.job AS id, h.state, h.ended_at AS at, h.attempt
        FROM history h
        WHERE h.job >= greatest(b.low, @after::bigint + 1) AND h.job <= b.high AND h.ended_at >= b.made_at - interval '1 day'
            AND (h.state = 'f' OR @any::boolean AND h.state IN ('x', 'c'))
        ORDER BY h.job LIMIT @limit::int)
        UNION ALL
        (SELECT i.id, o.state, o.at, 0
        FROM over_ranges o
        CROSS JOIN LATERAL generate_series(greatest(o.low, b.low, @after::bigint + 1), least(o.high, b.high)) AS i (id)
        WHERE @any::boolean AND o.low <= b.high AND o.high >= greatest(b.low, @after::bigint + 1)
            AND o.high <= coalesce((SELECT p.high FROM over_ranges p WHERE p.high >= b.high ORDER BY p.high LIMIT 1), b.high)
        ORDER BY i.id LIMIT @limit::int)
        ORDER BY id LIMIT @limit::int
    ) l
    LIMIT @limit::int
) e
JOIN jobs j ON j.id = e.id
ORDER BY e.id;
