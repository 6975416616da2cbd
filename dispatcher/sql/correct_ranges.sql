-- A range of its own by task for each of some jobs that are live; others are found by jobs_displaced from now on.
WITH displaced AS (
    UPDATE jobs SET displaced = true WHERE id = ANY (@by_place::bigint[]) AND displaced IS NOT TRUE
)
INSERT INTO job_ranges (task_id, low, high)
SELECT j.task_id, j.id, j.id FROM jobs j WHERE j.id = ANY (@by_task::bigint[])
ON CONFLICT DO NOTHING;
