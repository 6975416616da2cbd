-- The first ready jobs of many windows that nothing was read of yet, window by window.
SELECT k.nth::int AS nth, j.*
FROM unnest(@shares::int[], @shapes::int[]) WITH ORDINALITY AS k (share, shape, nth)
CROSS JOIN LATERAL (
    SELECT j.ctid, j.id, j.place, j.task_id, j.attempt, j.priority, j.idx, j.inputs,
        coalesce(j.first_event, 0) AS first_event, coalesce(j.n_events, 0) AS n_events, j.claims, j.created_at
    FROM jobs j
    WHERE j.share_id = k.share AND j.shape_id = k.shape AND j.state = 'ready'
        -- A look-up a row, whatever the planner thinks of the tables' sizes.
        AND (SELECT l.attempt FROM leases l WHERE l.job_id = j.id) IS NULL
    ORDER BY j.place, j.id
    LIMIT @n::int
) AS j
ORDER BY k.nth, j.place, j.id;
