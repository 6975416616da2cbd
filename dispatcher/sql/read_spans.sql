-- Jobs that were announced behind a window's cursor, as read_on finds them.
SELECT j.ctid, j.id, j.place, j.task_id, j.attempt, j.priority, j.idx, j.inputs,
    coalesce(j.first_event, 0) AS first_event, coalesce(j.n_events, 0) AS n_events, j.claims, j.first_made
FROM unnest(@places::bigint[], @lows::bigint[], @highs::bigint[]) AS s (place, low, high)
CROSS JOIN LATERAL (
    (SELECT i.ctid, i.id, i.place, i.task_id, i.attempt, i.priority, i.idx, i.inputs, i.first_event, i.n_events, i.claims,
        CASE WHEN i.retry_of IS NULL THEN i.created_at END AS first_made
    FROM jobs i
    WHERE i.share_id = @share::int AND i.shape_id = @shape::int AND i.state = 'ready' AND i.displaced
        AND i.place = s.place AND i.id BETWEEN s.low AND s.high
        AND (SELECT l.attempt FROM leases l WHERE l.job_id = i.id) IS NULL
    ORDER BY i.place, i.id
    LIMIT 100000)
    UNION ALL
    (SELECT o.*
    FROM (
        SELECT low, high FROM ready_ranges
        WHERE share_id = @share::int AND shape_id = @shape::int AND place = s.place AND high >= s.low AND low <= s.high
            AND high <= coalesce(( -- the last that may have some of them: what comes behind it is not looked at
                SELECT e.high FROM ready_ranges e
                WHERE e.share_id = @share::int AND e.shape_id = @shape::int AND e.place = s.place AND e.high >= s.high
                ORDER BY e.high LIMIT 1
            ), 9223372036854775807)
        ORDER BY high LIMIT 1000000000
    ) r
    CROSS JOIN LATERAL (
        SELECT i.ctid, i.id, i.place, i.task_id, i.attempt, i.priority, i.idx, i.inputs, i.first_event, i.n_events, i.claims,
            CASE WHEN i.retry_of IS NULL THEN i.created_at END AS first_made
        FROM jobs i
        WHERE i.id >= greatest(r.low, s.low) AND i.id <= least(r.high, s.high)
            AND i.share_id = @share::int AND i.shape_id = @shape::int AND i.place = s.place AND i.state = 'ready' AND i.displaced IS NOT TRUE
            AND (SELECT l.attempt FROM leases l WHERE l.job_id = i.id) IS NULL
        ORDER BY i.id
        LIMIT 100000
    ) o
    LIMIT 100000)
) j;
