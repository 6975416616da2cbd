-- Has jobs wait on. What is there of a job is of an attempt before, or of a crash that lost the log: it waits once.
INSERT INTO retries (job_id, task_id, due_at, attempt, shape_id, split)
SELECT w.job, w.task, now() + make_interval(secs => w.wait_s), w.attempt, w.shape, w.split
FROM unnest(@job::bigint[], @task::bigint[], @attempt::int[], @shape::int[], @wait_s::float8[], @split::boolean[])
    AS w (job, task, attempt, shape, wait_s, split)
ON CONFLICT (job_id) DO UPDATE SET due_at = excluded.due_at, attempt = excluded.attempt, shape_id = excluded.shape_id, split = excluded.split;
