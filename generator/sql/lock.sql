-- Tasks, locked against all who change tasks, in the order of their ids, as everybody does. Jobs by state are as of folded; idle are those
-- that are made, not over and without a lease.
SELECT t.id, t.user_name, t.state, coalesce(t.resume_state, '') AS resume_state, t.committed_at IS NOT NULL AS committed, t.split, t.per_job,
    t.n_inputs, t.share_id, t.attributes, t.lots IS NOT NULL AS in_lots, t.n_generated, coalesce(c.waiting + c.paused, 0) AS n_waiting,
    t.n_generated - coalesce(c.held + c.finished + c.failed + c.cancelled, 0) AS n_idle, coalesce(c.held, 0) AS n_leased,
    EXISTS (SELECT FROM task_needs n WHERE n.task_id = t.id) AS chained
FROM tasks t LEFT JOIN task_counts c ON c.task = t.id
WHERE t.id = ANY (@tasks::bigint[]) ORDER BY t.id FOR UPDATE OF t;
