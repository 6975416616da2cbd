-- Jobs that are over, of which holdings found nothing: this looks into every day.
SELECT e.id, e.attempt, e.state AS job_state, NULL::bigint AS nonce, NULL::text AS lease_state, NULL::text AS queue
FROM ended_jobs e
WHERE e.id = ANY (@jobs::bigint[]);
