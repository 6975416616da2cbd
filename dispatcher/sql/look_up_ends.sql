-- What is recorded of attempts that hold no lease now, and where their jobs stand.
SELECT a.job_id, a.nonce, coalesce(a.said, a.outcome) AS outcome,
    coalesce((SELECT e.state FROM ended_jobs e WHERE e.id = a.job_id LIMIT 1),
        (SELECT 'leased' FROM leases l WHERE l.job_id = a.job_id), 'ready') AS job_state
FROM unnest(@jobs::bigint[], @nonces::bigint[]) AS r (job_id, nonce)
JOIN attempts a ON a.job_id = r.job_id AND a.nonce = r.nonce
WHERE a.job_id = ANY (@jobs::bigint[]);
