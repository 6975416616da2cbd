-- What the payloads of a task's finished jobs reported of themselves, by rising id behind a cursor, block by block.
SELECT m.id, m.metadata
FROM (
    SELECT high, greatest(low, @after::bigint + 1) AS low, made_at FROM job_blocks
    WHERE task_id = @task::bigint AND high > @after::bigint AND low >= coalesce(
        (SELECT b.low FROM job_blocks b WHERE b.task_id = @task::bigint AND b.low <= @after::bigint ORDER BY b.low DESC LIMIT 1), 0)
    ORDER BY low LIMIT 1000000000
) r
CROSS JOIN LATERAL (
    SELECT t.job_id AS id, t.metadata
    FROM (
        SELECT x.job_id, x.attempt, x.ended_on, x.metadata FROM attempt_texts x
        WHERE x.job_id BETWEEN r.low AND r.high AND x.ended_on >= (r.made_at AT TIME ZONE 'UTC')::date AND x.metadata IS NOT NULL
        ORDER BY x.job_id
    ) t
    WHERE EXISTS (
        SELECT FROM history h
        WHERE h.job = t.job_id AND h.attempt = t.attempt AND h.state = 'f'
            AND h.ended_at >= t.ended_on::timestamp AT TIME ZONE 'UTC' AND h.ended_at < (t.ended_on + 1)::timestamp AT TIME ZONE 'UTC'
    )
    LIMIT @n::int
) m
LIMIT @n::int;
