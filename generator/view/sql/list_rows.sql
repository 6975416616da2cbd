-- Tasks of a page by their ids, in the order of these.
SELECT t.id, t.name, t.user_name, coalesce(own.path, s.path, '') AS share,
    CASE WHEN own.id IS NULL THEN '' ELSE coalesce(s.path, '') END AS job_share, t.state, t.n_jobs, t.n_waiting, t.n_ready,
    t.n_leased, t.n_finished, t.n_failed, t.n_cancelled, t.n_pieces, t.n_inputs, t.priority, t.max_attempts,
    CASE WHEN t.state IN ('ready', 'scouting', 'running') THEN coalesce(t.limited, t.reason) ELSE t.reason END AS reason,
    t.attributes, t.tagged_by, t.site_version, t.created_at, t.committed_at, t.started_at, t.ended_at,
    CASE WHEN t.ended_at IS NULL AND t.n_leased = 0 THEN t.spec END AS asks,
    (SELECT json_build_object('at', d.deadline, 'eta', d.eta, 'late_risk', d.late_risk, 'jobs_per_hour', coalesce(d.per_s, 0) * 3600,
        'boost', d.boost, 'boosted', d.boosted) FROM task_deadlines d WHERE d.task_id = t.id) AS deadline
FROM unnest(@ids::bigint[]) WITH ORDINALITY AS i (id, place)
JOIN counted_tasks t ON t.id = i.id
LEFT JOIN shares s ON s.id = t.share_id
LEFT JOIN shares own ON own.id = t.own_share_id
ORDER BY i.place;
