-- What the payloads of a task's finished jobs reported of themselves, by rising id behind a cursor.
SELECT e.id, a.report -> 'metaData' AS metadata
FROM ended_jobs e
JOIN LATERAL (SELECT y.report FROM attempts y WHERE y.job_id = e.id AND y.attempt = e.attempt) a ON a.report ? 'metaData'
WHERE e.task_id = @task::bigint AND e.state = 'finished' AND e.id > @after::bigint
ORDER BY e.id
LIMIT @n::int;
