-- One task that may go to another share, locked, with what it has now.
SELECT t.id, t.state, t.ended_at IS NOT NULL AS over, coalesce(t.share_id, 0) AS share_id, coalesce(s.path, '') AS share,
    t.own_share_id IS NOT NULL AS overruled, t.committed_at IS NOT NULL AS committed, t.n_jobs - t.n_generated AS pieces,
    t.n_finished + t.n_failed + t.n_cancelled AS ended
FROM tasks t
LEFT JOIN shares s ON s.id = t.share_id
WHERE t.id = @task::bigint
FOR UPDATE OF t;
