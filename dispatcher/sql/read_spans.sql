-- Jobs that were announced behind a window's cursor.
SELECT j.id, j.place, j.task_id, j.attempt, j.priority, j.idx, j.inputs,
    coalesce(j.first_event, 0) AS first_event, coalesce(j.n_events, 0) AS n_events
FROM unnest(@places::bigint[], @lows::bigint[], @highs::bigint[]) AS s (place, low, high)
JOIN jobs j ON j.share_id = @share::int AND j.shape_id = @shape::int AND j.state = 'ready'
    AND j.place = s.place AND j.id BETWEEN s.low AND s.high
WHERE NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id)
ORDER BY j.place, j.id;
