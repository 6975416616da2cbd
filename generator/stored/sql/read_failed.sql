-- The next jobs to try again, oldest first: those that did not finish and whose ids lie behind the task's cursor, but for those that it was
-- scaled away from. Each has the shape of its last attempt; one that had none, that which it was made with. Read block by block, as in
-- read_ended.
SELECT r.task_id, e.id, e.shape_id, j.idx, j.inputs, coalesce(j.first_event, 0) AS first_event, coalesce(j.n_events, 0) AS n_events
FROM unnest(@tasks::bigint[], @afters::bigint[], @ns::bigint[]) AS r (task_id, after, n)
CROSS JOIN LATERAL (
    SELECT l.id, l.shape_id
    FROM (
        SELECT low, high, shape_id, made_at FROM job_blocks WHERE task_id = r.task_id AND high > r.after ORDER BY low LIMIT 1000000000
    ) b
    CROSS JOIN LATERAL (
        (SELECT h.job AS id, h.shape AS shape_id
        FROM history h
        WHERE h.job >= greatest(b.low, r.after + 1) AND h.job <= b.high AND h.ended_at >= b.made_at - interval '1 day'
            AND h.state IN ('x', 'c')
            AND NOT EXISTS (SELECT FROM scaled_away s WHERE s.task_id = r.task_id AND h.job BETWEEN s.low AND s.high)
        ORDER BY h.job LIMIT r.n)
        UNION ALL
        (SELECT i.id, coalesce(CASE WHEN o.state = 'x' THEN (
                SELECT a.shape FROM history a WHERE a.job = i.id AND a.ended_at >= b.made_at - interval '1 day' ORDER BY a.attempt DESC LIMIT 1
            ) END, b.shape_id)
        FROM over_ranges o
        CROSS JOIN LATERAL generate_series(greatest(o.low, b.low, r.after + 1), least(o.high, b.high)) AS i (id)
        WHERE o.low <= b.high AND o.high >= greatest(b.low, r.after + 1)
            AND o.high <= coalesce((SELECT p.high FROM over_ranges p WHERE p.high >= b.high ORDER BY p.high LIMIT 1), b.high)
            AND NOT EXISTS (SELECT FROM scaled_away s WHERE s.task_id = r.task_id AND i.id BETWEEN s.low AND s.high)
        ORDER BY i.id LIMIT r.n)
        ORDER BY id LIMIT r.n
    ) l
    LIMIT r.n
) e
JOIN jobs j ON j.id = e.id
ORDER BY r.task_id, e.id;
