-- Every failed or cancelled job that was not tried again, and every piece that never became a job, is to be made.
-- Each job beyond the pieces stands for one that was tried again, so pieces + failed + cancelled is the new total.
-- Those that the task was scaled away from stay as they are. Of one that follows other tasks only what may be a job counts,
-- and it may go on although there is nothing to try again: more may come. One that was killed before its first job has its scouts
-- still to come.
WITH watched AS (
    UPDATE task_deadlines SET over = false, seen_at = NULL, per_s = NULL WHERE task_id = @task::bigint
)
UPDATE tasks SET state = n.after, ended_at = NULL, reason = @reason::text,
    resume_state = CASE WHEN n.after = 'throttled' THEN 'running' END,
    quota = n_generated + CASE WHEN n.after = 'throttled' THEN 0 ELSE max_running END, limited = NULL,
    scouted = CASE WHEN scouts IS NOT NULL AND (n_generated > 0 OR state <> 'aborted') THEN coalesce(scouted, '{}') END,
    n_jobs = CASE WHEN n_generated = 0 AND state = 'aborted' THEN n_jobs ELSE coalesce(n_released, n_pieces) + a.n END
FROM (SELECT coalesce((SELECT c.failed + c.cancelled FROM task_counts c WHERE c.task = x.id), 0)
        - CASE WHEN x.scaled IS NULL THEN 0 ELSE divvy_unwanted(x.id) END AS n
        FROM tasks x WHERE x.id = @task::bigint) a,
    (SELECT CASE WHEN EXISTS (SELECT FROM task_needs WHERE task_id = @task::bigint AND state = 'open' AND NOT per_input)
        THEN 'waiting' ELSE @after::text END AS after) n
WHERE id = @task::bigint AND state = @before::text
    AND (n_generated < coalesce(n_released, n_pieces) + a.n OR chain = 'open')
RETURNING n_jobs - n_generated AS again, state;
