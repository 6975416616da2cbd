-- The next jobs whose pieces are to become two.
SELECT job_id AS id, task_id FROM splittings WHERE job_id > @after::bigint ORDER BY job_id LIMIT @limit::int;
