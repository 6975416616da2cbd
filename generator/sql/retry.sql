-- Every failed or cancelled job that was not tried again, and every piece that never became a job, is to be made.
-- Each job beyond the pieces stands for one that was tried again, so pieces + failed + cancelled is the new total.
-- Those that the task was scaled away from stay as they are.
UPDATE tasks SET state = 'running', ended_at = NULL, reason = '', n_jobs = n_pieces + n_failed + n_cancelled - a.n
FROM (SELECT count(*) AS n FROM ended_jobs WHERE task_id = @task::bigint AND scaled_away AND state <> 'finished') a
WHERE id = @task::bigint AND state = @before::text AND n_generated < n_pieces + n_failed + n_cancelled - a.n
RETURNING n_jobs - n_generated AS again;
