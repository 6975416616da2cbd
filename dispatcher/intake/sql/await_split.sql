-- Jobs wait until their piece has become two.
INSERT INTO splittings (job_id, task_id, shape_id, attempt)
SELECT w.job, w.task, w.shape, w.attempt
FROM unnest(@jobs::bigint[], @tasks::bigint[], @shapes::int[], @attempts::int[]) AS w (job, task, shape, attempt)
ON CONFLICT (job_id) DO UPDATE SET shape_id = excluded.shape_id, attempt = excluded.attempt;
