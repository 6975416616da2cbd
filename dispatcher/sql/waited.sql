-- How long jobs have waited, from the submission of their task, or where they try a piece again from being made.
SELECT j.id, extract(epoch FROM now() - CASE WHEN j.retry_of IS NULL
    THEN least(b.made_at, (SELECT coalesce(t.committed_at, t.created_at) FROM tasks t WHERE t.id = b.task_id)) ELSE b.made_at END)::float8 AS seconds
FROM unnest(@jobs::bigint[]) AS k (id)
CROSS JOIN LATERAL (SELECT i.id, i.retry_of FROM jobs i WHERE i.id = k.id LIMIT 1) j
CROSS JOIN LATERAL (SELECT i.task_id, i.made_at FROM job_blocks i WHERE i.low <= k.id ORDER BY i.low DESC LIMIT 1) b;
