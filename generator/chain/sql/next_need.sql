-- The next open need behind a place that has something to do: one of the two tasks is over, or more jobs of the needed one
-- have ended than when it was looked at last, or that look is not through. Ends are counted in the transaction that folds them: a look
-- that begins now finds at least as many. The task that needs is locked; one that is in another daemon's hands is passed over.
SELECT n.task_id, n.place, n.needs_id, n.condition, n.per_input, coalesce(n.outputs, '') AS outputs, n.low, n.after, n.low_next,
    n.was_over, n.n_taken, a.name AS needs_name, a.state AS needs_state, a.ended_at IS NOT NULL AS over, coalesce(c.finished, 0) AS needs_finished,
    coalesce(c.finished + c.failed + c.cancelled, 0) AS needs_ended, t.ended_at IS NOT NULL AS left, t.user_name,
    coalesce(t.attributes ->> 'label', '') AS label, coalesce(t.share_id, 0) AS share_id, t.n_inputs, t.per_job
FROM task_needs n
JOIN tasks t ON t.id = n.task_id
JOIN tasks a ON a.id = n.needs_id
LEFT JOIN task_counts c ON c.task = n.needs_id
WHERE n.state = 'open' AND (n.task_id, n.place) > (@task::bigint, @place::int) AND t.committed_at IS NOT NULL
    AND (a.ended_at IS NOT NULL OR t.ended_at IS NOT NULL
        OR (n.per_input OR n.outputs IS NOT NULL) AND (n.low_next IS NOT NULL OR n.seen < c.finished + c.failed + c.cancelled))
ORDER BY n.task_id, n.place LIMIT 1
FOR UPDATE OF t, n SKIP LOCKED;
