-- Looks at some ranges behind a cursor, and deletes those of which no job is live. The jobs of a range are there with it; none comes later.
-- The job is asked for as a value, and ranges are named by where they lie, as they are never updated: else all jobs, or ranges, there
-- are might be read for it.
WITH next AS MATERIALIZED (
    SELECT ctid AS row, task_id, low, high FROM job_ranges
    WHERE (task_id, high) > (@task::bigint, @high::bigint)
    ORDER BY task_id, high
    LIMIT @n::int
), gone AS (
    DELETE FROM job_ranges
    WHERE ctid = ANY (ARRAY(
        SELECT n.row FROM next n
        WHERE (SELECT j.id FROM jobs j WHERE j.id >= n.low AND j.id <= n.high AND j.task_id = n.task_id ORDER BY j.id LIMIT 1) IS NULL))
    RETURNING high
)
SELECT n.task_id, n.high, (SELECT count(*) FROM gone)::int AS gone FROM next n ORDER BY n.task_id DESC, n.high DESC LIMIT 1;
