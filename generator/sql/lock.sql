-- Tasks, locked against all who change tasks, in the order of their ids, as everybody does.
SELECT id, user_name, state, coalesce(resume_state, '') AS resume_state, committed_at IS NOT NULL AS committed, split, per_job,
    n_inputs, share_id, attributes, lots IS NOT NULL AS in_lots,
    EXISTS (SELECT FROM task_needs n WHERE n.task_id = tasks.id) AS chained
FROM tasks WHERE id = ANY (@tasks::bigint[]) ORDER BY id FOR UPDATE;
