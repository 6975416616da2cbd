-- Up to which id list_task_jobs has looked for a state; NULL: to the end.
SELECT CASE WHEN count(*) = @most::int THEN max(id) END
FROM (
    (SELECT id FROM jobs
    WHERE task_id = ANY (ARRAY[@task::bigint]) AND id > @after::bigint AND @state::text IN ('waiting', 'ready', 'leased')
    ORDER BY task_id, id LIMIT @most::int)
    UNION ALL
    (SELECT id FROM ended_jobs
    WHERE task_id = ANY (ARRAY[@task::bigint]) AND id > @after::bigint AND @state::text IN ('finished', 'failed', 'cancelled')
    ORDER BY task_id, id LIMIT @most::int)
) looked;
