-- The next jobs whose pieces are to become two, and what is left of those that are over.
SELECT r.job_id AS id, coalesce(j.task_id, 0) AS task_id
FROM (SELECT job_id FROM retries WHERE split AND due_at <= now() AND job_id > @after::bigint ORDER BY job_id LIMIT @limit::int) r
LEFT JOIN jobs j ON j.id = r.job_id
ORDER BY r.job_id;
