-- Jobs wait until their piece has become two.
INSERT INTO splittings (job_id, task_id, shape_id, attempt)
SELECT w.job, w.task, w.shape, w.attempt
FROM unnest(@job::bigint[], @task::bigint[], @shape::int[], @attempt::int[]) AS w (job, task, shape, attempt)
ON CONFLICT (job_id) DO UPDATE SET shape_id = excluded.shape_id, attempt = excluded.attempt;
