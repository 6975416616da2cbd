-- Running jobs of a task that are charged to another share, as of folded.
SELECT count(*)
FROM (SELECT low, high FROM job_blocks WHERE task_id = @task::bigint ORDER BY low LIMIT 1000000000) b
CROSS JOIN LATERAL (
    SELECT l.share FROM leases_now l WHERE l.job >= b.low AND l.job <= b.high
) l
WHERE l.share <> @share::int;
