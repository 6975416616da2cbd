-- Ids of jobs that pilots have, of a user, in shares, at a queue, behind a cursor: at most so many leases are looked at, in the order of
-- their key. The row of id 0 is no job: its looked is the last lease that was looked at, NULL where there are no more. Users are looked up
-- once a task.
WITH seen AS MATERIALIZED (
    SELECT h.job, h.task, h.queue,
        CASE WHEN EXISTS (SELECT FROM moves) THEN divvy_payer(h.task, h.job, h.nth, h.share) ELSE h.share END AS share -- as leases_now
    FROM held h WHERE h.job > @after::bigint ORDER BY h.job LIMIT @most::int
), found AS (
    SELECT l.job
    FROM seen l
    WHERE (@queue::text = '' OR l.queue IN (SELECT q.id FROM queues q WHERE q.name = @queue::text))
        AND (@share::text = '' OR l.share IN (SELECT s.id FROM shares s WHERE s.path = @share::text OR starts_with(s.path, @share::text || '/')))
        AND (@user::text = '' OR l.task IN (
            SELECT d.task FROM (SELECT DISTINCT task FROM seen WHERE @user::text <> '') d
            CROSS JOIN LATERAL (SELECT t.user_name FROM tasks t WHERE t.id = d.task LIMIT 1) t WHERE t.user_name = @user::text))
    ORDER BY l.job LIMIT @n::int
)
SELECT job AS id, NULL::bigint AS looked FROM found
UNION ALL
SELECT 0, CASE WHEN count(*) = @most::int THEN max(job) END FROM seen
ORDER BY id;
