-- A range of its own for each of these jobs that is live.
INSERT INTO job_ranges (task_id, low, high)
SELECT j.task_id, j.id, j.id FROM jobs j WHERE j.id = ANY (@ids::bigint[])
ON CONFLICT DO NOTHING;
