-- Ids of jobs of a task that are over in some states, after a time, behind a cursor and up to an id, block by block. Days
-- before a block was made are not looked at.
SELECT o.id
FROM (
    SELECT made_at, least(high, @upto::bigint) AS high, greatest(low, @after::bigint + 1) AS low FROM job_blocks
    WHERE task_id = @task::bigint AND high > @after::bigint AND low <= @upto::bigint AND low >= coalesce(
        (SELECT b.low FROM job_blocks b WHERE b.task_id = @task::bigint AND b.low <= @after::bigint ORDER BY b.low DESC LIMIT 1), 0)
    ORDER BY low LIMIT 1000000000
) r
CROSS JOIN LATERAL (
    (SELECT h.job AS id FROM history h
    WHERE h.job BETWEEN r.low AND r.high AND h.ended_at >= r.made_at AND h.ended_at > @since::timestamptz
        AND h.state = ANY (@states::"char"[])
    ORDER BY h.job LIMIT @n::int)
    UNION ALL
    (SELECT g.id
    FROM (
        (SELECT e.low, e.high, e.state, e.at FROM over_ranges e
        WHERE e.high BETWEEN r.low AND r.high AND e.state = ANY (@states::"char"[]) AND e.at > @since::timestamptz
        ORDER BY e.high LIMIT @n::int)
        UNION ALL
        (SELECT e.low, e.high, e.state, e.at FROM over_ranges e WHERE e.high > r.high ORDER BY e.high LIMIT 1)
    ) i
    CROSS JOIN LATERAL generate_series(greatest(i.low, r.low), least(i.high, r.high, greatest(i.low, r.low) + @n::int - 1)) AS g (id)
    WHERE i.state = ANY (@states::"char"[]) AND i.at > @since::timestamptz)
    ORDER BY id LIMIT @n::int
) o
LIMIT @n::int;
