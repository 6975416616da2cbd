-- One task as people see it. A share that a job attribute overruled is shown as the task's own.
SELECT t.id, t.name, t.user_name, coalesce(own.path, s.path, '') AS share,
    CASE WHEN own.id IS NULL THEN '' ELSE coalesce(s.path, '') END AS job_share, t.state, t.n_jobs, t.n_waiting, t.n_ready,
    t.n_leased, t.n_finished, t.n_failed, t.n_cancelled, t.n_pieces, t.n_inputs, t.priority, t.max_attempts,
    CASE WHEN t.state IN ('ready', 'scouting', 'running') THEN coalesce(t.limited, t.reason) ELSE t.reason END AS reason,
    t.attributes, t.tagged_by, t.site_version, t.created_at, t.committed_at, t.started_at, t.ended_at, t.spec, t.parameters, t.scaled,
    coalesce(t.scouts, 0) AS scouts, t.scouted,
    (SELECT json_agg(json_build_object('task', n.needs_id, 'name', a.name, 'state', a.state, 'when', n.condition,
            'per', CASE WHEN n.per_input THEN 'input' ELSE 'task' END, 'outputs', coalesce(n.outputs, ''), 'met', n.state,
            'taken', CASE WHEN n.per_input OR n.outputs IS NOT NULL THEN n.n_taken ELSE 0 END) ORDER BY n.place)
        FROM task_needs n JOIN tasks a ON a.id = n.needs_id WHERE n.task_id = t.id) AS needs,
    ARRAY(SELECT n.task_id FROM task_needs n WHERE n.needs_id = t.id ORDER BY n.task_id LIMIT 100) AS needed_by,
    (SELECT json_build_object('at', d.deadline, 'eta', d.eta, 'late_risk', d.late_risk, 'jobs_per_hour', coalesce(d.per_s, 0) * 3600,
        'boost', d.boost, 'boosted', d.boosted) FROM task_deadlines d WHERE d.task_id = t.id) AS deadline
FROM counted_tasks t
LEFT JOIN shares s ON s.id = t.share_id
LEFT JOIN shares own ON own.id = t.own_share_id
WHERE t.id = @task::bigint;
