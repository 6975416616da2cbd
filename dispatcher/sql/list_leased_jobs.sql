-- Jobs that pilots have, of a user, in shares, at a queue, by id behind a cursor: at most so many leases are looked at, in the order
-- of their key. The row of id 0 is no job: its looked is the last lease that was looked at, NULL where there are no more.
WITH seen AS MATERIALIZED (
    SELECT l.job_id, l.task_id, l.share_id, l.queue_id, l.pilot
    FROM leases l
    WHERE l.job_id > @after::bigint
    ORDER BY l.job_id LIMIT @most::int
), found AS MATERIALIZED (
    SELECT l.*, q.name AS queue, s.path
    FROM seen l
    JOIN queues q ON q.id = l.queue_id
    JOIN shares s ON s.id = l.share_id
    WHERE (@queue::text = '' OR q.name = @queue::text)
        AND (@share::text = '' OR s.path = @share::text OR starts_with(s.path, @share::text || '/'))
        AND (@user::text = '' OR EXISTS (SELECT FROM tasks t WHERE t.id = l.task_id AND t.user_name = @user::text))
    ORDER BY l.job_id LIMIT @n::int
)
SELECT j.id, j.task_id, f.path AS share, j.shape_id, 'leased' AS state, j.priority, j.attempt, j.max_attempts, j.idx, j.inputs,
    coalesce(j.retry_of, 0) AS retry_of, j.created_at, NULL::timestamptz AS ended_at, f.queue, f.pilot, NULL::timestamptz AS try_at,
    NULL::bigint AS looked
FROM found f
JOIN jobs j ON j.id = f.job_id
UNION ALL
SELECT 0, 0, '', 0, '', 0, 0, 0, 0, NULL, 0, now(), NULL, '', '', NULL, CASE WHEN count(*) = @most::int THEN max(s.job_id) END
FROM seen s
ORDER BY id;
