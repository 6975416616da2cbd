-- Every failed or cancelled job that was not tried again, and every piece that never became a job, is to be made.
-- Each job beyond the pieces stands for one that was tried again, so pieces + failed + cancelled is the new total.
UPDATE tasks SET state = 'running', ended_at = NULL, reason = '', n_jobs = n_pieces + n_failed + n_cancelled
WHERE id = @task::bigint AND state = @before::text AND n_generated < n_pieces + n_failed + n_cancelled
RETURNING n_jobs - n_generated AS again;
