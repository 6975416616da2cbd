-- Live jobs that no range of their task has, and ready ones that are where they were made, as they say, and in no range of the ready order, in one
-- snapshot. It reads all jobs.
SELECT * FROM (
    SELECT j.id AS job_id, j.task_id,
        coalesce((
            SELECT r.low FROM job_ranges r WHERE r.task_id = j.task_id AND r.high >= j.id ORDER BY r.high LIMIT 1
        ), j.id + 1) > j.id AS by_task,
        j.displaced IS NOT TRUE AND j.state = 'ready' AND coalesce((
            SELECT r.low FROM ready_ranges r
            WHERE r.share_id = j.share_id AND r.shape_id = j.shape_id AND r.place = j.place AND r.high >= j.id
            ORDER BY r.high LIMIT 1
        ), j.id + 1) > j.id AS by_place
    FROM jobs j
) s
WHERE by_task OR by_place
ORDER BY job_id;
