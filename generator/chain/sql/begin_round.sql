-- Up to which id all jobs of a task have ended. Ids of a task's jobs rise as they are made and as the log gets them, so later ones lie
-- behind; so many of the last are not folded yet. The limit keeps PostgreSQL from a join that reads all live jobs.
WITH blocks AS MATERIALIZED (
    SELECT low, high, sum(high - low + 1) OVER (ORDER BY low DESC) - (high - low + 1) AS behind FROM job_blocks WHERE task_id = @task::bigint
), unfolded AS (
    SELECT t.n_generated - coalesce(c.ready + c.paused + c.held + c.waiting + c.finished + c.failed + c.cancelled, 0) AS n
    FROM tasks t LEFT JOIN task_counts c ON c.task = t.id WHERE t.id = @task::bigint
)
SELECT coalesce(least(
        (SELECT l.id
        FROM (SELECT low, high FROM blocks WHERE high > @low::bigint ORDER BY low LIMIT 1000000000) b
        CROSS JOIN LATERAL (
            SELECT min(x.id) AS id
            FROM (
                SELECT greatest(r.low, b.low) AS id
                FROM (SELECT i.low FROM idle_ranges i WHERE i.high >= b.low ORDER BY i.high LIMIT 1) r
                WHERE r.low <= b.high
                UNION ALL
                (SELECT h.job FROM held h WHERE h.job >= b.low AND h.job <= b.high ORDER BY h.job LIMIT 1)
            ) x
        ) l
        WHERE l.id IS NOT NULL
        LIMIT 1),
        (SELECT min(b.low) FROM blocks b, unfolded u WHERE b.behind < u.n)
    ) - 1, (SELECT max(high) FROM blocks), @low::bigint)::bigint;
