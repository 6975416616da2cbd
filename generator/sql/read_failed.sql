-- The next jobs to try again, oldest first: those that did not finish and whose ids lie behind the task's cursor, but for those that it was
-- scaled away from.
SELECT e.task_id, e.id, e.shape_id, e.idx, e.inputs, coalesce(e.first_event, 0) AS first_event, coalesce(e.n_events, 0) AS n_events
FROM unnest(@tasks::bigint[], @afters::bigint[], @ns::bigint[]) AS r (task_id, after, n)
CROSS JOIN LATERAL (
    SELECT task_id, id, shape_id, idx, inputs, first_event, n_events FROM ended_jobs
    WHERE task_id = r.task_id AND id > r.after AND state IN ('failed', 'cancelled') AND scaled_away IS NULL
    ORDER BY id LIMIT r.n
) e
ORDER BY e.task_id, e.id;
