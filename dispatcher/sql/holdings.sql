-- Live jobs with their leases. A lease and its job have the same attempt.
SELECT j.id, j.attempt, CASE WHEN l.job_id IS NULL THEN j.state ELSE 'leased' END AS job_state, l.nonce, l.state AS lease_state,
  (SELECT q.name FROM queues q WHERE q.id = l.queue_id) AS queue
FROM jobs j
LEFT JOIN leases l ON l.job_id = j.id AND l.job_id = ANY (@jobs::bigint[])
WHERE j.id = ANY (@jobs::bigint[]);
