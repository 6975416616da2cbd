-- Tasks with these ids, as task.sql shows one.
SELECT t.id, t.name, t.user_name, coalesce(own.path, s.path, '') AS share,
    CASE WHEN own.id IS NULL THEN '' ELSE coalesce(s.path, '') END AS job_share, t.state, t.n_jobs, t.n_waiting, t.n_ready,
    t.n_leased, t.n_finished, t.n_failed, t.n_cancelled, t.n_pieces, t.n_inputs, t.priority, t.max_attempts,
    CASE WHEN t.state IN ('ready', 'scouting', 'running') THEN coalesce(t.limited, t.reason) ELSE t.reason END AS reason,
    t.attributes, t.tagged_by, t.site_version, t.created_at, t.committed_at, t.started_at, t.ended_at, t.spec, t.parameters, t.scaled,
    coalesce(t.scouts, 0) AS scouts, t.scouted
FROM counted_tasks t
LEFT JOIN shares s ON s.id = t.share_id
LEFT JOIN shares own ON own.id = t.own_share_id
WHERE t.id = ANY (@ids::bigint[])
ORDER BY t.id DESC;
