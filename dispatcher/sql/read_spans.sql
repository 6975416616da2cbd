-- Jobs that were announced behind a window's cursor.
SELECT j.ctid, j.id, j.place, j.task_id, j.attempt, j.priority, j.idx, j.inputs,
    coalesce(j.first_event, 0) AS first_event, coalesce(j.n_events, 0) AS n_events, j.claims, j.created_at
FROM unnest(@places::bigint[], @lows::bigint[], @highs::bigint[]) AS s (place, low, high)
CROSS JOIN LATERAL (
    SELECT i.ctid, i.id, i.place, i.task_id, i.attempt, i.priority, i.idx, i.inputs, i.first_event, i.n_events, i.claims, i.created_at
    FROM jobs i
    WHERE i.share_id = @share::int AND i.shape_id = @shape::int AND i.state = 'ready'
        AND i.place = s.place AND i.id BETWEEN s.low AND s.high
        AND (SELECT l.attempt FROM leases l WHERE l.job_id = i.id) IS NULL
    ORDER BY i.place, i.id
    LIMIT 100000
) j;
