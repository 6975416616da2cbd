-- How many of these jobs ended as finished, with their one attempt recorded, started and ended.
SELECT count(DISTINCT e.id)
FROM ended_jobs e JOIN attempts a ON a.job_id = e.id AND a.attempt = e.attempt
WHERE e.id = ANY (@jobs::bigint[]) AND e.state = 'finished' AND a.outcome = 'finished' AND a.started_at IS NOT NULL;
