-- The first ready jobs of many windows that nothing was read of yet, window by window, as read_on finds them.
SELECT k.nth::int AS nth, x.*
FROM unnest(@shares::int[], @shapes::int[]) WITH ORDINALITY AS k (share, shape, nth)
CROSS JOIN LATERAL (
    (SELECT j.ctid, j.id, j.place, j.task_id, j.attempt, j.priority, j.idx, j.inputs,
        coalesce(j.first_event, 0) AS first_event, coalesce(j.n_events, 0) AS n_events, j.claims,
        CASE WHEN j.retry_of IS NULL THEN j.created_at END AS first_made
    FROM jobs j
    WHERE j.share_id = k.share AND j.shape_id = k.shape AND j.state = 'ready' AND j.displaced
        -- A look-up a row, whatever the planner thinks of the tables' sizes.
        AND (SELECT l.attempt FROM leases l WHERE l.job_id = j.id) IS NULL
    ORDER BY j.place, j.id
    LIMIT @n::int)
    UNION ALL
    (SELECT i.*
    FROM (
        SELECT place, low, high FROM ready_ranges WHERE share_id = k.share AND shape_id = k.shape ORDER BY place, high LIMIT 1000000000
    ) r
    CROSS JOIN LATERAL (
        SELECT j.ctid, j.id, j.place, j.task_id, j.attempt, j.priority, j.idx, j.inputs,
            coalesce(j.first_event, 0) AS first_event, coalesce(j.n_events, 0) AS n_events, j.claims,
            CASE WHEN j.retry_of IS NULL THEN j.created_at END AS first_made
        FROM jobs j
        WHERE j.id >= r.low AND j.id <= r.high AND j.share_id = k.share AND j.shape_id = k.shape AND j.place = r.place
            AND j.state = 'ready' AND j.displaced IS NOT TRUE
            AND (SELECT l.attempt FROM leases l WHERE l.job_id = j.id) IS NULL
        ORDER BY j.id
        LIMIT @n::int
    ) i
    LIMIT @n::int)
    ORDER BY 3, 2
    LIMIT @n::int
) AS x
ORDER BY k.nth, x.place, x.id;
