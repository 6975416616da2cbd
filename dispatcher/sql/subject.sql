-- One job that is to be explained: what it asks for, where in the order of its share it stands, and what its task does. placed says that
-- place is that of the log; else it was made a moment ago, or has or had a lease. waits: it waits for a rule, which try_at is the time of.
SELECT b.task_id AS task, coalesce(h.share, r.share, b.share_id) AS share, coalesce(h.shape, r.shape, b.shape_id) AS shape, b.priority, b.made_at,
    coalesce(r.place, 0) AS place, r.low IS NOT NULL AS placed, coalesce(r.state = 'w', false) AS waits, d.due_at AS try_at, coalesce(d.split, false) AS split,
    coalesce(j.claims, '{}') AS held, coalesce(t.state, '') AS task_state, coalesce(t.reason, '') AS task_reason, coalesce(t.user_name, '') AS "user"
FROM (SELECT i.id, i.claims FROM jobs i WHERE i.id = @job::bigint LIMIT 1) j
CROSS JOIN LATERAL (SELECT i.* FROM job_blocks i WHERE i.low <= j.id ORDER BY i.low DESC LIMIT 1) b
LEFT JOIN LATERAL (SELECT i.* FROM held i WHERE i.job = j.id LIMIT 1) h ON true
LEFT JOIN LATERAL (SELECT i.* FROM idle_ranges i WHERE i.high >= j.id AND h.job IS NULL ORDER BY i.high LIMIT 1) r ON r.low <= j.id
LEFT JOIN retries d ON d.job_id = j.id
LEFT JOIN tasks t ON t.id = b.task_id;
