-- Running jobs of a task that are charged to another share than the one with this path.
SELECT count(*)
FROM job_ranges r
CROSS JOIN LATERAL (
    SELECT i.id FROM jobs i WHERE i.id >= r.low AND i.id <= r.high AND i.task_id = r.task_id ORDER BY i.id
) j
JOIN leases l ON l.job_id = j.id
WHERE r.task_id = @task::bigint
    AND l.share_id <> (SELECT s.id FROM shares s WHERE s.path = @share::text AND s.removed_in IS NULL);
