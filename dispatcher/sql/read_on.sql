-- The next ready jobs of a window behind its cursor: those that are where they were made by their ranges, the others by their index.
-- Reading on by key costs nothing for rows before it, dead or not.
SELECT x.*
FROM (
    (SELECT j.ctid, j.id, j.place, j.task_id, j.attempt, j.priority, j.idx, j.inputs,
        coalesce(j.first_event, 0) AS first_event, coalesce(j.n_events, 0) AS n_events, j.claims,
        CASE WHEN j.retry_of IS NULL THEN j.created_at END AS first_made
    FROM jobs j
    WHERE j.share_id = @share::int AND j.shape_id = @shape::int AND j.state = 'ready' AND j.displaced
        AND (j.place, j.id) > (@place::bigint, @id::bigint)
        -- While several daemons lease, each reads its own slice of the ids.
        AND (@slices::bigint = 1 OR (j.id >> @bits::int) % @slices::bigint = @slice::bigint)
        -- A look-up a row, whatever the planner thinks of the tables' sizes.
        AND (SELECT l.attempt FROM leases l WHERE l.job_id = j.id) IS NULL
    ORDER BY j.place, j.id
    LIMIT @n::int)
    UNION ALL
    (SELECT i.*
    FROM (
        SELECT place, low, high FROM ready_ranges
        WHERE share_id = @share::int AND shape_id = @shape::int AND (place, high) > (@place::bigint, @id::bigint)
        ORDER BY place, high LIMIT 1000000000
    ) r
    CROSS JOIN LATERAL (
        SELECT j.ctid, j.id, j.place, j.task_id, j.attempt, j.priority, j.idx, j.inputs,
            coalesce(j.first_event, 0) AS first_event, coalesce(j.n_events, 0) AS n_events, j.claims,
            CASE WHEN j.retry_of IS NULL THEN j.created_at END AS first_made
        FROM jobs j
        WHERE j.id > CASE WHEN r.place = @place::bigint THEN @id::bigint ELSE 0 END AND j.id >= r.low AND j.id <= r.high
            AND j.share_id = @share::int AND j.shape_id = @shape::int AND j.place = r.place AND j.state = 'ready' AND j.displaced IS NOT TRUE
            AND (@slices::bigint = 1 OR (j.id >> @bits::int) % @slices::bigint = @slice::bigint)
            AND (SELECT l.attempt FROM leases l WHERE l.job_id = j.id) IS NULL
        ORDER BY j.id
        LIMIT @n::int
    ) i
    LIMIT @n::int)
) x
ORDER BY x.place, x.id
LIMIT @n::int;
