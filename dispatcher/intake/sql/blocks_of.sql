-- The blocks of jobs. Blocks do not overlap, so that the last one that begins at a job or before it is its own, if any is.
SELECT j.id, b.task_id, b.low
FROM (SELECT DISTINCT u.id FROM unnest(@ids::bigint[]) AS u (id)) j
CROSS JOIN LATERAL (
    SELECT b.low, b.high, b.task_id FROM job_blocks b WHERE b.low <= j.id ORDER BY b.low DESC LIMIT 1
) b
WHERE b.high >= j.id
ORDER BY j.id;
