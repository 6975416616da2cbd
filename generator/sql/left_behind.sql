-- Running jobs of a task that are charged to another share than the one with this path.
SELECT count(*)
FROM job_ranges r
CROSS JOIN LATERAL (
    SELECT (SELECT l.share_id FROM leases l WHERE l.job_id = i.id) AS share_id FROM jobs i
    WHERE i.id >= r.low AND i.id <= r.high AND i.task_id = r.task_id
    ORDER BY i.id
) j
WHERE r.task_id = @task::bigint
    AND j.share_id <> (SELECT s.id FROM shares s WHERE s.path = @share::text AND s.removed_in IS NULL);
