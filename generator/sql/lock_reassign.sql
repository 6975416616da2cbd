-- One task that may go to another share, locked, with what it has now; jobs by state are as of folded.
SELECT t.id, t.state, t.ended_at IS NOT NULL AS over, coalesce(t.share_id, 0) AS share_id, coalesce(s.path, '') AS share,
    t.own_share_id IS NOT NULL AS overruled, t.n_jobs - t.n_generated AS pieces, t.n_generated,
    coalesce(c.waiting + c.paused, 0) AS waiting, t.n_generated - coalesce(c.waiting + c.paused + c.held + c.finished + c.failed + c.cancelled, 0) AS ready,
    coalesce(c.finished + c.failed + c.cancelled, 0) AS ended
FROM tasks t
LEFT JOIN shares s ON s.id = t.share_id
LEFT JOIN task_counts c ON c.task = t.id
WHERE t.id = @task::bigint
FOR UPDATE OF t;
