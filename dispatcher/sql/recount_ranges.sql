-- Live jobs that no range of their task has, in one snapshot. It reads all jobs.
SELECT j.id AS job_id, j.task_id
FROM jobs j
WHERE coalesce((
    SELECT r.low FROM job_ranges r WHERE r.task_id = j.task_id AND r.high >= j.id ORDER BY r.high LIMIT 1
), j.id + 1) > j.id
ORDER BY j.id;
