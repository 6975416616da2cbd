-- The live leases of a pull that was answered within ten minutes; one row of zeros when all of them have ended or run out: whoever
-- got one that has run out would begin a job that others may be given at any moment.
SELECT p.body_hash, coalesce(l.job_id, 0) AS job_id, coalesce(l.attempt, 0) AS attempt, coalesce(l.nonce, 0) AS nonce,
    coalesce(l.task_id, 0) AS task_id, coalesce(l.share_id, 0) AS share_id, coalesce(l.shape_id, 0) AS shape_id,
    coalesce(j.idx, 0) AS idx, j.inputs, coalesce(j.first_event, 0) AS first_event, coalesce(j.n_events, 0) AS n_events, j.claims,
    coalesce(extract(epoch FROM l.expires_at - now()), 0)::float8 AS expires_s
FROM pulls p
LEFT JOIN (
    leases l JOIN jobs j ON j.id = l.job_id
) ON l.job_id = ANY (p.job_ids) AND l.nonce = ANY (p.nonces) AND l.expires_at > now()
WHERE p.key = @key::uuid AND p.at > now() - interval '10 minutes';
