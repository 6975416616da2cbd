-- One task, locked against all who change tasks.
SELECT id, state, coalesce(resume_state, '') AS resume_state, committed_at IS NOT NULL AS committed, split, per_job,
    n_inputs, share_id, attributes
FROM tasks WHERE id = @task::bigint FOR UPDATE;
