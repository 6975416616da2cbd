-- One task, locked against all who change tasks.
SELECT id, state, coalesce(resume_state, '') AS resume_state, committed_at IS NOT NULL AS committed, split, per_job,
    n_inputs, share_id, own_share_id, site_version, n_pieces, n_jobs, n_generated, attributes, spec
FROM tasks WHERE id = @task::bigint FOR UPDATE;
