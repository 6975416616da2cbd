-- Up to which id list_task_jobs has looked for a state; NULL: to the end.
SELECT CASE WHEN count(*) = @most::int THEN max(id) END
FROM (
    (SELECT i.id
    FROM (
        SELECT task_id, low, high FROM job_ranges WHERE task_id = @task::bigint AND high > @after::bigint AND @state::text IN ('waiting', 'ready', 'leased') ORDER BY high LIMIT 1000000000
    ) r
    CROSS JOIN LATERAL (
        SELECT j.id FROM jobs j
        WHERE j.id > @after::bigint AND j.id >= r.low AND j.id <= r.high AND j.task_id = r.task_id
        ORDER BY j.id LIMIT @most::int
    ) i
    LIMIT @most::int)
    UNION ALL
    (SELECT id FROM ended_jobs
    WHERE task_id = ANY (ARRAY[@task::bigint]) AND id > @after::bigint AND @state::text IN ('finished', 'failed', 'cancelled')
    ORDER BY task_id, id LIMIT @most::int)
) looked;
