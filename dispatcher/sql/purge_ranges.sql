-- Looks at some ranges behind a cursor, and deletes those of which no job is live. The jobs of a range are there with it; none comes later.
-- The job is asked for as a value: as NOT EXISTS, all jobs there are might be read for it.
WITH next AS MATERIALIZED (
    SELECT task_id, low, high FROM job_ranges
    WHERE (task_id, high) > (@task::bigint, @high::bigint)
    ORDER BY task_id, high
    LIMIT @n::int
), gone AS (
    DELETE FROM job_ranges r USING next n
    WHERE r.task_id = n.task_id AND r.high = n.high
        AND (SELECT j.id FROM jobs j WHERE j.id >= n.low AND j.id <= n.high AND j.task_id = n.task_id ORDER BY j.id LIMIT 1) IS NULL
    RETURNING r.high
)
SELECT n.task_id, n.high, (SELECT count(*) FROM gone)::int AS gone FROM next n ORDER BY n.task_id DESC, n.high DESC LIMIT 1;
