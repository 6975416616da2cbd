-- The smallest and the largest id of the jobs of tasks.
SELECT t.id AS task_id, s.low, s.high
FROM unnest(@tasks::bigint[]) WITH ORDINALITY AS t (id, i)
CROSS JOIN LATERAL (SELECT min(b.low) AS low, max(b.high) AS high FROM job_blocks b WHERE b.task_id = t.id) s
WHERE s.low IS NOT NULL
ORDER BY t.i;
