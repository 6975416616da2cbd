-- One task as people see it. A share that a job attribute overruled is shown as the task's own.
SELECT t.id, t.name, t.user_name, coalesce(own.path, s.path, '') AS share,
    CASE WHEN own.id IS NULL THEN '' ELSE coalesce(s.path, '') END AS job_share, t.state, t.n_jobs, t.n_waiting, t.n_ready,
    t.n_leased, t.n_finished, t.n_failed, t.n_cancelled, t.n_pieces, t.n_inputs, t.priority, t.max_attempts, t.reason,
    t.attributes, t.tagged_by, t.site_version, t.created_at, t.committed_at, t.started_at, t.ended_at, t.spec, t.parameters, t.scaled
FROM tasks t
LEFT JOIN shares s ON s.id = t.share_id
LEFT JOIN shares own ON own.id = t.own_share_id
WHERE t.id = @task::bigint;
